import { describe, expect, it } from '@jest/globals';
import { readStrings } from './kernel.js';

/** The whitespace that JSON allows between tokens. */
const BLANKS = [' ', '\t', '\n', '\r'];

describe('the bytes between an array’s strings', () => {
  it('may be a comma and JSON whitespace, and nothing else', () => {
    for (let byte = 0; byte < 256; byte++) {
      const mark = String.fromCharCode(byte);
      if (mark === ',' || mark === ']' || mark === '"') continue;
      const around = [`["a"${mark},"b"]`, `["a",${mark}"b"]`, `["a","b"${mark}]`];
      for (const text of around) {
        const read = readStrings(Buffer.from(text, 'latin1'), 1);
        expect([byte, text, read !== undefined]).toEqual([byte, text, BLANKS.includes(mark)]);
      }
    }
  });
});
