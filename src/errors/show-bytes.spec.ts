import { describe, expect, it } from '@jest/globals';
import { showBytes } from './show-bytes.js';

describe('showBytes', () => {
  it.each([
    ['bücher 😀\n', '"bücher 😀\\n"'],
    [[0x61, 0xff, 0x62, 0xfe], '"a\\xffb\\xfe"'],
    // The beginning of a character, a byte too many after one, a surrogate, and an overlong slash.
    [[0xe2, 0x82, 0x61], '"\\xe2\\x82a"'],
    [[0xc3, 0xbc, 0x80], '"ü\\x80"'],
    [[0xed, 0xa0, 0x80], '"\\xed\\xa0\\x80"'],
    [[0xc0, 0xaf], '"\\xc0\\xaf"'],
    ['\u{e00ff}', '"\\udb40\\udcff"'],
    // A text that only looks like an escape.
    ['\\xff \\udcff \\\\udcff', '"\\\\xff \\\\udcff \\\\\\\\udcff"'],
  ])('shows %j as %s', (bytes, shown) => {
    expect(showBytes(Buffer.from(bytes as string))).toBe(shown);
  });

  it('masks and cuts like show', () => {
    expect(showBytes(Buffer.from('http://user:secret@example.org/\xff', 'latin1'))).toBe(
      '"http://***@example.org/\\xff"',
    );
    expect(showBytes(Buffer.alloc(10_000, 0xff))).toBe(`"${'\\xff'.repeat(80)}"…`);
  });
});
