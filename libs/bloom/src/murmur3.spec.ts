import { describe, expect, it } from '@jest/globals';
import reference from 'murmurhash3js-revisited';
import { HASH_SCHEMES, hashScheme, SEED_BYTES } from './hash-scheme.js';
import { murmur3x86_128 } from './murmur3.js';

const LENGTHS = Array.from({ length: 1001 }, (_, length) => length);
const SEEDS = [0, 1, 0x7fffffff, 0x80000000, 0xdeadbeef, 0xffffffff];

/** Bytes of every value, different at every place. */
function bytesOf(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 131 + length * 17 + (i >> 3)) & 0xff);
}

/** The bytes as little-endian words, with something else behind them. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  const padded = new Uint8Array(Math.ceil(bytes.length / 4) * 4 + 16).fill(0xa5);
  padded.set(bytes);
  return new Uint32Array(padded.buffer);
}

function hex(words: Uint32Array): string {
  return Array.from(words, (word) => word.toString(16).padStart(8, '0')).join('');
}

describe('murmur3 x86_128', () => {
  it.each(SEEDS)('agrees with an independent implementation at every length, seed %d', (seed) => {
    const out = new Uint32Array(4);
    for (const length of LENGTHS) {
      const bytes = bytesOf(length);
      murmur3x86_128(wordsOf(bytes), length, seed, out, 0);
      expect([length, hex(out)]).toEqual([length, reference.x86.hash128(bytes, seed)]);
    }
  });

  it('reads no byte beyond the length and writes no word beside its own', () => {
    const out = new Uint32Array(8).fill(7);
    murmur3x86_128(wordsOf(bytesOf(21)), 21, 5, out, 3);
    expect(hex(out.subarray(3, 7))).toBe(reference.x86.hash128(bytesOf(21), 5));
    expect([out[2], out[7]]).toEqual([7, 7]);
  });
});

describe('hash schemes', () => {
  it('scheme 1 takes the first four bytes of the seed, little-endian', () => {
    const seed = new Uint8Array(SEED_BYTES).fill(9);
    seed.set([0xef, 0xbe, 0xad, 0xde]);
    const out = new Uint32Array(4);
    hashScheme(1).hash(wordsOf(bytesOf(40)), 40, wordsOf(seed), out, 0);
    expect(hex(out)).toBe(reference.x86.hash128(bytesOf(40), 0xdeadbeef));
  });

  it('are known by their numbers; others are refused', () => {
    for (const number of HASH_SCHEMES) expect(hashScheme(number).number).toBe(number);
    expect(HASH_SCHEMES).toEqual([1, 2]);
    expect(() => hashScheme(0)).toThrow('hash scheme 0 is unknown to this version; known: 1, 2');
  });
});
