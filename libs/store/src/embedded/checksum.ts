import { crc32 } from 'node:zlib';

/** Up to here a loop beats the call of zlib's. */
const SHORT = 256;

/**
 * 32 bits of `bytes` and of a seed, for noticing damage: no change within one aligned word of 4 bytes, and of 2^32 others
 * one, goes unnoticed. murmur3 for short values (each step is a bijection of the word), crc32 for long ones.
 */
export function checksum(bytes: Uint8Array, seed: number): number {
  return bytes.length > SHORT ? crc32(bytes, seed) : murmur(bytes, seed);
}

function murmur(bytes: Uint8Array, seed: number): number {
  const { length } = bytes;
  const words = length & ~3;
  let h = seed;
  for (let i = 0; i < words; i += 4) {
    const word =
      (bytes[i] as number) |
      ((bytes[i + 1] as number) << 8) |
      ((bytes[i + 2] as number) << 16) |
      ((bytes[i + 3] as number) << 24);
    h ^= mix(word);
    h = Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64;
  }
  let tail = 0;
  for (let i = length - 1; i >= words; i--) tail = (tail << 8) | (bytes[i] as number);
  h ^= mix(tail) ^ length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

function mix(word: number): number {
  const k = Math.imul(word, 0xcc9e2d51);
  return Math.imul((k << 15) | (k >>> 17), 0x1b873593);
}
