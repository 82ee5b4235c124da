import { describe, expect, it } from '@jest/globals';
import reference from 'murmurhash3js-revisited';
import { assertKnown, HASH_SCHEMES, SEED_BYTES } from './hash-scheme.js';
import { hashBytes } from './kernel.js';

const LENGTHS = Array.from({ length: 1001 }, (_, length) => length);
const SEEDS = [0, 1, 0x7fffffff, 0x80000000, 0xdeadbeef, 0xffffffff];

/** Bytes of every value, with different neighbours. */
function bytesOf(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 131 + length * 17 + (i >> 3)) & 0xff);
}

function murmur3(bytes: Uint8Array, seed: number): string {
  const whole = Buffer.alloc(SEED_BYTES, 9);
  whole.writeUInt32LE(seed);
  return Array.from(hashBytes(1, whole, bytes), (word) => word.toString(16).padStart(8, '0')).join('');
}

describe('murmur3 x86_128, seeded with the first four bytes of the seed, little-endian', () => {
  it.each(SEEDS)('agrees with an independent implementation at every length, seed %d', (seed) => {
    for (const length of LENGTHS) {
      const bytes = bytesOf(length);
      expect([length, murmur3(bytes, seed)]).toEqual([length, reference.x86.hash128(bytes, seed)]);
    }
  });

  it('reads no byte beyond the length', () => {
    for (const before of [0x00, 0xff]) {
      murmur3(new Uint8Array(200).fill(before), 5);
      expect(murmur3(bytesOf(21), 5)).toBe(reference.x86.hash128(bytesOf(21), 5));
    }
  });
});

describe('hash schemes', () => {
  it('have known numbers, and any other number throws', () => {
    expect(HASH_SCHEMES).toEqual([1, 2, 3]);
    for (const number of HASH_SCHEMES) expect(() => assertKnown(number)).not.toThrow();
    for (const number of [0, 4, 1.5, NaN]) {
      expect(() => assertKnown(number)).toThrow(
        `scheme ${number} is unknown to this version; known: 1, 2, 3`,
      );
    }
  });
});
