import { tailWord } from './tail-word.js';

/**
 * MurmurHash3 x86_128 (Austin Appleby, public domain): four 32-bit words from a byte string.
 * Not safe against an adversary who chooses the keys: there are collisions that no seed prevents.
 */
const C1 = 0x239b961b;
const C2 = 0xab0e9789;
const C3 = 0x38b34ae5;
const C4 = 0xa1e38b93;

function rotateLeft(x: number, bits: number): number {
  return (x << bits) | (x >>> (32 - bits));
}

function finalMix(x: number): number {
  let h = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/**
 * Hashes the first `length` bytes of `words` with a 32-bit seed into `out[at .. at + 3]`, as unsigned words. The
 * bytes come as 32-bit words, first byte lowest: a load a word instead of four. What lies beyond `length` is not
 * used. Each word is the reference implementation's output word of the same place.
 */
export function murmur3x86_128(
  words: Uint32Array,
  length: number,
  seed: number,
  out: Uint32Array,
  at: number,
): void {
  let h1 = seed | 0;
  let h2 = h1;
  let h3 = h1;
  let h4 = h1;
  const body = (length >>> 4) << 2;
  for (let i = 0; i < body; i += 4) {
    h1 ^= Math.imul(rotateLeft(Math.imul(words[i] as number, C1), 15), C2);
    h1 = (Math.imul(rotateLeft(h1, 19) + h2, 5) + 0x561ccd1b) | 0;
    h2 ^= Math.imul(rotateLeft(Math.imul(words[i + 1] as number, C2), 16), C3);
    h2 = (Math.imul(rotateLeft(h2, 17) + h3, 5) + 0x0bcaa747) | 0;
    h3 ^= Math.imul(rotateLeft(Math.imul(words[i + 2] as number, C3), 17), C4);
    h3 = (Math.imul(rotateLeft(h3, 15) + h4, 5) + 0x96cd1c35) | 0;
    h4 ^= Math.imul(rotateLeft(Math.imul(words[i + 3] as number, C4), 18), C1);
    h4 = (Math.imul(rotateLeft(h4, 13) + h1, 5) + 0x32ac3b17) | 0;
  }
  // A tail word of no bytes is 0 and leaves its lane as it is, so that no case distinction is needed.
  h4 ^= Math.imul(rotateLeft(Math.imul(tailWord(words, body + 3, length), C4), 18), C1);
  h3 ^= Math.imul(rotateLeft(Math.imul(tailWord(words, body + 2, length), C3), 17), C4);
  h2 ^= Math.imul(rotateLeft(Math.imul(tailWord(words, body + 1, length), C2), 16), C3);
  h1 ^= Math.imul(rotateLeft(Math.imul(tailWord(words, body, length), C1), 15), C2);

  h1 ^= length;
  h2 ^= length;
  h3 ^= length;
  h4 ^= length;
  h1 = (h1 + h2 + h3 + h4) | 0;
  h2 = finalMix(h2 + h1);
  h3 = finalMix(h3 + h1);
  h4 = finalMix(h4 + h1);
  h1 = finalMix(h1);
  h1 = (h1 + h2 + h3 + h4) | 0;
  out[at] = h1;
  out[at + 1] = h2 + h1;
  out[at + 2] = h3 + h1;
  out[at + 3] = h4 + h1;
}
