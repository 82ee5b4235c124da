import { describe, expect, it } from '@jest/globals';
import type { Geometry } from './geometry.js';
import { HASH_SCHEMES, SEED_BYTES } from './hash-scheme.js';
import { positionsOf, segmentOf } from './positions.js';

const geometry = (hashScheme: number): Geometry => ({
  ...{ hashScheme, cellBits: 4, hashes: 6, pageCells: 256 },
  ...{ pagesPerSegment: 1000, segments: 3 },
});

describe('a hash scheme', () => {
  it.each([0, 3, 1.5, -1])('throws RangeError if this version does not know it: %d', (scheme) => {
    expect(() => positionsOf(['a'], new Uint8Array(SEED_BYTES), geometry(scheme))).toThrow(RangeError);
  });

  it.each(HASH_SCHEMES)('gives its own positions: %d', (scheme) => {
    const positions = (one: number) => positionsOf(['a'], new Uint8Array(SEED_BYTES), geometry(one)).hash;
    for (const other of HASH_SCHEMES) {
      if (other !== scheme) expect(positions(scheme)).not.toEqual(positions(other));
    }
  });
});

describe('the segment of a hash', () => {
  it('is the segment in the item’s positions', () => {
    const keys = Array.from({ length: 1_000 }, (_, i) => `item ${i}`);
    const { hash, segment } = positionsOf(keys, new Uint8Array(SEED_BYTES), geometry(2));
    expect(keys.map((_, i) => segmentOf(hash[4 * i] as number, 3))).toEqual([...segment]);
  });
});
