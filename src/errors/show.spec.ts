import { describe, expect, it } from '@jest/globals';
import { show } from './show.js';

describe('show', () => {
  it.each([
    ['plain', '"plain"'],
    ['a"b\n', '"a\\"b\\n"'],
    ['naïve 😀', '"na\\u00efve \\ud83d\\ude00"'],
    ['\ud800', '"\\ud800"'],
    ['\u001b[2J\u007f', '"\\u001b[2J\\u007f"'],
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

  it.each([
    'http://user:secret@example.org/a@b',
    'http://user:p@ss:secret@example.org/',
    'HTTP:\\\\user:secret@example.org',
    'http:user:secret@example.org',
    '//user:secret@example.org',
    ` http://user:secret@example.org/${'x'.repeat(9_000)}`,
    `http://secret${'x'.repeat(5_000)}@example.org/`,
  ])('masks the userinfo of %.40s', (url) => {
    expect(show(url)).not.toContain('secret');
    expect(show(url)).toContain('***@');
  });

  // Looking back from each of their characters would take minutes.
  it('takes little time on long values', () => {
    const began = Date.now();
    for (const part of [':', '/', ':/', '@', 'a:']) show(part.repeat(500_000));
    expect(Date.now() - began).toBeLessThan(20_000);
  });
});
