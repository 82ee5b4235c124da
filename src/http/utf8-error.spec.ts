import { isUtf8 } from 'node:buffer';
import { describe, expect, it } from '@jest/globals';
import { Random, SEED } from '../../test/support/random.js';
import { utf8ErrorAt } from './utf8-error.js';

const BAD: readonly (readonly [string, number[]])[] = [
  ['a stray continuation', [0x80]],
  ['four of them', [0x80, 0x80, 0x80, 0x80]],
  ['many of them', Array<number>(40).fill(0x80)],
  ['a cut character of two bytes', [0xc3]],
  ['a cut character of three bytes', [0xe2, 0x82]],
  ['a cut character of four bytes', [0xf0, 0x9f, 0x98]],
  ['an overlong slash', [0xc0, 0xaf]],
  ['a surrogate', [0xed, 0xa0, 0x80]],
  ['a byte that occurs in no character', [0xff]],
];
const CHARACTERS = ['a', 'é', '€', '😀', '\ufffd'];

/** By definition: the end of the longest prefix that is valid UTF-8. */
function slowly(raw: Buffer): number {
  let end = raw.length;
  while (!isUtf8(raw.subarray(0, end))) end--;
  return end;
}

/** Lengths close to `length`. */
function near(length: number): number[] {
  return Array.from({ length: 9 }, (_, i) => length - 4 + i).filter((one) => one >= 0);
}

describe(`utf8ErrorAt (SEED=${SEED})`, () => {
  it.each(BAD)('finds the byte where %s begins, at any position', (_, bad) => {
    for (const character of CHARACTERS) {
      const unit = Buffer.from(character);
      // Around the ends of the steps.
      for (const length of [0, 2 ** 14, 2 ** 15].flatMap((step) => near(step))) {
        const whole = Buffer.alloc(length - (length % unit.length), unit);
        const found = ['', '€'].map((after) =>
          utf8ErrorAt(Buffer.concat([whole, Buffer.from(bad), Buffer.from(after)])),
        );
        expect([character, ...found]).toEqual([character, whole.length, whole.length]);
      }
    }
  });

  it('agrees with a check of every prefix on random bytes', () => {
    const random = new Random();
    for (let run = 0; run < 2_000; run++) {
      const text = Array.from({ length: random.below(40) }, () => CHARACTERS[random.below(5)]).join('');
      const raw = Buffer.concat([Buffer.from(text), random.bytes(1 + random.below(8)), Buffer.from('€x')]);
      if (!isUtf8(raw))
        expect([raw.toString('hex'), utf8ErrorAt(raw)]).toEqual([raw.toString('hex'), slowly(raw)]);
    }
  });
});
