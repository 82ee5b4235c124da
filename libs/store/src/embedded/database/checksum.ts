import { crc32 } from 'node:zlib';

/** Up to this length, a loop is faster than calling zlib. */
const SHORT = 256;

/**
 * A 32-bit checksum of the first `length` bytes and a seed. It detects damage, not attacks. It always detects a change
 * within one aligned 4-byte word, and misses one in 2^32 other changes. Long values use crc32. Short values use one
 * step per word, which is a bijection of both the word and the state before it.
 */
export function checksum(bytes: Uint8Array, seed: number, length = bytes.length): number {
  return length > SHORT ? crc32(bytes.subarray(0, length), seed) : hashShort(bytes, seed, length);
}

function hashShort(bytes: Uint8Array, seed: number, length: number): number {
  const words = length & ~3;
  let h = seed;
  for (let i = 0; i < words; i += 4) {
    const word =
      (bytes[i] as number) |
      ((bytes[i + 1] as number) << 8) |
      ((bytes[i + 2] as number) << 16) |
      ((bytes[i + 3] as number) << 24);
    h = Math.imul(h ^ word, 0x9e3779b1);
    h = (h << 15) | (h >>> 17);
  }
  let tail = 0;
  for (let i = words; i < length; i++) tail = (tail << 8) | (bytes[i] as number);
  h = Math.imul(h ^ tail, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13) ^ length, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
