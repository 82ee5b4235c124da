import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { loadCounted } from '../../libs/url-key/src/testing/counted-steps.js';
import { masked } from './masked.js';
import type * as Show from './show.js';
import { show, withoutUserinfo } from './show.js';

describe('show', () => {
  it.each([
    ['plain', '"plain"'],
    ['a"b\n', '"a\\"b\\n"'],
    ['naïve 😀', '"naïve 😀"'],
    ['bücher/日本語/हिन्दी/«€»', '"bücher/日本語/हिन्दी/«€»"'],
    ['\ud800', '"\\ud800"'],
    ['\u001b[2J\u007f\u009b31m', '"\\u001b[2J\\u007f\\u009b31m"'],
    // Characters that break lines, change the direction of text, or are invisible.
    ['a\u2028b\u202ec\u2066', '"a\\u2028b\\u202ec\\u2066"'],
    ['a\u00a0b\u00adc\u200bd\ufeff', '"a\\u00a0b\\u00adc\\u200bd\\ufeff"'],
    ['\u3164\ufe0f\ue000\u{e0041}', '"\\u3164\\ufe0f\\ue000\\udb40\\udc41"'],
    [7, '7'],
    [null, 'null'],
    [undefined, 'undefined'],
    [[1, 2], 'an array of 2'],
    [{ a: 1 }, 'an object'],
  ])('shows %p as %s', (value, shown) => {
    expect(show(value)).toBe(shown);
  });

  it('cuts at 80 characters', () => {
    expect(show('x'.repeat(80))).toBe(`"${'x'.repeat(80)}"`);
    expect(show('x'.repeat(81))).toBe(`"${'x'.repeat(80)}"…`);
  });

  it('never cuts a character in two', () => {
    expect(show(`${'x'.repeat(79)}😀`)).toBe(`"${'x'.repeat(79)}"…`);
    expect(show(`${'x'.repeat(78)}😀`)).toBe(`"${'x'.repeat(78)}😀"`);
    // Masking shortens the first 1,024 units, which end within the character.
    expect(show(`//${'u'.repeat(1_019)}@/😀`)).toBe('"//***@/"…');
  });

  it.each([
    'http://user:secret@example.org/a@b',
    'http://user:p@ss:secret@example.org/',
    'HTTP:\\\\user:secret@example.org',
    'http:user:secret@example.org',
    '//user:secret@example.org',
    ` http://user:secret@example.org/${'x'.repeat(9_000)}`,
    `http://secret${'x'.repeat(5_000)}@example.org/`,
    'http://user:two words secret@example.org/',
    'http://user:\n\tsecret@example.org/',
  ])('masks the userinfo of %.40s', (url) => {
    expect(show(url)).not.toContain('secret');
    expect(show(url)).toContain('***@');
  });

  it.each([
    `unseen_0123456789abcdef_${'secret'.repeat(7)}x`,
    `Bearer unseen_0123456789abcdef_${'x'.repeat(30)}\n${'secret'.repeat(2)}`,
    `unseen_0123456789\r\nabcdef_${'secret'.repeat(7)}x`,
    `eyJ${'h'.repeat(20)}.eyJsecret\n.secret${'g'.repeat(40)}`,
  ])('masks the key or token in %j', (text) => {
    expect(show(text)).not.toContain('secret');
    expect(show(text)).toContain('***');
  });

  it('masks a user with the beginning of a password, but no port', () => {
    expect(show('"https://user:secret')).toBe('"\\"https://***"');
    expect(show('https://host:8080')).toBe('"https://host:8080"');
    expect(show('http://[::1]')).toBe('"http://[::1]"');
  });

  // A search that restarted at each character would take minutes and time out.
  it.each([':', '//a:', 'a:b', '-eyJ', '\neyJ', 'eyJ.', 'eyJ.eyJ.', 'unseen_', '\\', '//\n@'])(
    'masks a long text of %j in one pass',
    (part) => {
      const text = `//${part.repeat(300_000)}[`;
      const work = (): void => {
        masked(text);
        for (const isCut of [false, true]) withoutUserinfo(text, isCut);
      };
      runInNewContext('work()', { work }, { timeout: 60_000 });
    },
  );

  it.each([':', '/', ':/', '@', 'a:'])('reads only the start of long values: %j', (part) => {
    const counted = loadCounted<typeof Show>(join(import.meta.dirname, 'show.ts'));
    const steps = (times: number): number => counted.steps(() => counted.exports.show(part.repeat(times)));
    expect(steps(500_000)).toBe(steps(5_000));
  });
});
