import { describe, expect, it } from '@jest/globals';
import type { Geometry } from './geometry.js';
import { HASH_SCHEMES, HOST_HASH_SCHEME, SEED_BYTES } from './hash-scheme.js';
import { positionsOf, positionsOfHashes, relocate, segmentOf } from './positions.js';

const geometry = (hashScheme: number): Geometry => ({
  ...{ hashScheme, cellBits: 4, hashes: 6, pageCells: 256 },
  ...{ pagesPerSegment: 1000, segments: 6 },
  ...(hashScheme === HOST_HASH_SCHEME && { spread: 3 }),
});

describe('a hash scheme', () => {
  it.each([0, 4, 1.5, -1])('throws RangeError if unknown to this version: %d', (scheme) => {
    expect(() => positionsOf(['a'], new Uint8Array(SEED_BYTES), geometry(scheme))).toThrow(RangeError);
  });

  it.each(HASH_SCHEMES)('gives its own positions: %d', (scheme) => {
    const positions = (one: number) => positionsOf(['a'], new Uint8Array(SEED_BYTES), geometry(one)).hash;
    for (const other of HASH_SCHEMES) {
      if (other !== scheme) expect(positions(scheme)).not.toEqual(positions(other));
    }
  });
});

describe('a spread', () => {
  it.each([
    [2, 3],
    [HOST_HASH_SCHEME, undefined],
    [HOST_HASH_SCHEME, 4],
    [HOST_HASH_SCHEME, 0],
  ])('throws RangeError if it does not fit: scheme %d, %d', (hashScheme, spread) => {
    const { spread: _, ...rest } = geometry(hashScheme);
    const unfit = { ...rest, ...(spread !== undefined && { spread }) };
    expect(() => positionsOf(['a'], new Uint8Array(SEED_BYTES), unfit)).toThrow(/spread/);
    const positions = positionsOf(['a'], new Uint8Array(SEED_BYTES), geometry(hashScheme));
    expect(() => relocate(positions, unfit)).toThrow(/spread/);
    expect(() => positionsOfHashes(positions.hash, unfit)).toThrow(/spread/);
  });
});

describe('the segment of a hash', () => {
  it.each(HASH_SCHEMES)('equals the segment in the item’s positions: %d', (scheme) => {
    const keys = Array.from({ length: 1_000 }, (_, i) => `http://${i % 50}.example/${i}`);
    const { hash, segment } = positionsOf(keys, new Uint8Array(SEED_BYTES), geometry(scheme));
    const words = (i: number) => [hash[4 * i], hash[4 * i + 1]] as [number, number];
    expect(keys.map((_, i) => segmentOf(...words(i), geometry(scheme)))).toEqual([...segment]);
    expect(new Set(segment).size).toBe(6);
  });
});
