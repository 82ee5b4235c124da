import { tailWord } from './tail-word.js';

/**
 * SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012; the 128-bit
 * form is their reference implementation's). A pseudorandom function: who does not know the key finds no collisions
 * but by trying, whatever he knows of the algorithm.
 *
 * The four 64-bit words v0 … v3 of its state are eight 32-bit halves here (`v0h` the high one of v0, `v0l` the low one),
 * all of them local variables, because that is what the compiler keeps in registers; hence one long function.
 */

/**
 * The carry of a 32-bit addition to `a`, 0 or 1: the sum is below `a` just if it ran over. Not by `Number(…)`, which
 * is as fast, but forty times slower where globals are not the engine's own, as in a test runner's vm contexts.
 */
function carry(a: number, sum: number): number {
  return +(sum >>> 0 < a >>> 0);
}

/**
 * Hashes the first `length` bytes of `words` (first byte lowest; what lies beyond is not used) under a key of four
 * words into `out[at .. at + 3]`. As little-endian bytes these are the reference implementation's 16.
 */
export function sipHash128(
  words: Uint32Array,
  length: number,
  key: Uint32Array,
  out: Uint32Array,
  at: number,
): void {
  const k0l = key[0] as number;
  const k0h = key[1] as number;
  const k1l = key[2] as number;
  const k1h = key[3] as number;
  let v0l = k0l ^ 0x70736575;
  let v0h = k0h ^ 0x736f6d65;
  let v1l = k1l ^ 0x6e646f6d ^ 0xee;
  let v1h = k1h ^ 0x646f7261;
  let v2l = k0l ^ 0x6e657261;
  let v2h = k0h ^ 0x6c796765;
  let v3l = k1l ^ 0x79746573;
  let v3h = k1h ^ 0x74656462;
  // Words come in pairs of halves. `tail`: the message's last word. Two words of zeros after it make the four rounds
  // that close the first half of the result, two more those of the second.
  const tail = (length >>> 3) << 1;
  const firstHalf = tail + 4;
  const secondHalf = tail + 8;
  for (let i = 0; i <= secondHalf; i += 2) {
    let ml = 0;
    let mh = 0;
    if (i < tail) {
      ml = words[i] as number;
      mh = words[i + 1] as number;
    } else if (i === tail) {
      ml = tailWord(words, i, length);
      mh = tailWord(words, i + 1, length) | (length << 24);
    } else if (i === tail + 2) {
      v2l ^= 0xee;
    }
    v3l ^= ml;
    v3h ^= mh;
    for (let round = 0; round < 2; round++) {
      let sum = (v0l + v1l) | 0;
      v0h = (v0h + v1h + carry(v0l, sum)) | 0;
      v0l = sum;
      let high = ((v1h << 13) | (v1l >>> 19)) ^ v0h;
      v1l = ((v1l << 13) | (v1h >>> 19)) ^ v0l;
      v1h = high;
      sum = (v2l + v3l) | 0;
      v2h = (v2h + v3h + carry(v2l, sum)) | 0;
      v2l = sum;
      high = ((v3h << 16) | (v3l >>> 16)) ^ v2h;
      v3l = ((v3l << 16) | (v3h >>> 16)) ^ v2l;
      v3h = high;
      // v0 is turned by 32 bits before this addition, v2 after the next one: their halves change places.
      sum = (v0h + v3l) | 0;
      high = (v0l + v3h + carry(v0h, sum)) | 0;
      v0l = sum;
      v0h = high;
      high = ((v3h << 21) | (v3l >>> 11)) ^ v0h;
      v3l = ((v3l << 21) | (v3h >>> 11)) ^ v0l;
      v3h = high;
      sum = (v2l + v1l) | 0;
      high = (v2h + v1h + carry(v2l, sum)) | 0;
      v2h = sum;
      v2l = high;
      high = ((v1h << 17) | (v1l >>> 15)) ^ v2l;
      v1l = ((v1l << 17) | (v1h >>> 15)) ^ v2h;
      v1h = high;
    }
    v0l ^= ml;
    v0h ^= mh;
    if (i === firstHalf) {
      out[at] = v0l ^ v1l ^ v2l ^ v3l;
      out[at + 1] = v0h ^ v1h ^ v2h ^ v3h;
      v1l ^= 0xdd;
    }
  }
  out[at + 2] = v0l ^ v1l ^ v2l ^ v3l;
  out[at + 3] = v0h ^ v1h ^ v2h ^ v3h;
}
