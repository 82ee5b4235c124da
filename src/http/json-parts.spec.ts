import { describe, expect, it } from '@jest/globals';
import { hasTooManyParts } from './json-parts.js';

/** Long enough for the check to apply. */
const LONG = ' '.repeat(2 ** 18);

describe('hasTooManyParts', () => {
  it.each([
    ['{"items":["a","b"]}', 4],
    ['[[[[', 4],
    ['{"a":{"b":{"c":1}}}', 6],
    ['[1,2,3]', 3],
    ['"[[[,:{"', 0],
    ['["\\"[[","\\\\",",,"]', 3],
    ['["https://example.org/[a],{b}:c"]', 1],
    ['["\\', 1],
  ])('counts a text’s parts outside its strings: %s', (text, parts) => {
    const raw = Buffer.from(LONG + text);
    expect(hasTooManyParts(raw, parts)).toBe(false);
    if (parts > 0) expect(hasTooManyParts(raw, parts - 1)).toBe(true);
  });

  it('leaves short texts to the parser', () => {
    expect(hasTooManyParts(Buffer.from('['.repeat(2 ** 18)), 10)).toBe(false);
    expect(hasTooManyParts(Buffer.from('['.repeat(2 ** 18 + 1)), 10)).toBe(true);
  });
});
