import { describe, expect, it } from '@jest/globals';
import { collidingKeys } from '../../../test/support/murmur3-collisions.js';
import { Random, SEED } from '../../../test/support/random.js';
import { SEED_BYTES } from './hash-scheme.js';
import { positionsOf } from './positions.js';

const GEOMETRY = { cellBits: 4, hashes: 9, pageCells: 512, pagesPerSegment: 1000, segments: 7 } as const;

/** The number of different hashes among the keys. */
function hashes(keys: readonly string[], seed: Uint8Array, hashScheme: number): number {
  const { hash, count } = positionsOf(keys, seed, { ...GEOMETRY, hashScheme });
  return new Set(Array.from({ length: count }, (_, i) => hash.subarray(i * 4, i * 4 + 4).join())).size;
}

describe(`keys crafted to collide under murmur3 (SEED=${SEED})`, () => {
  const random = new Random(SEED);
  const seeds = Array.from({ length: 1_000 }, () => random.bytes(SEED_BYTES));
  const [few, many] = [collidingKeys('', 1), collidingKeys('page 12 of 3456.', 12)];

  it('are different texts that the service accepts', () => {
    expect(new Set(few).size).toBe(2);
    expect(new Set(many).size).toBe(4_096);
    for (const key of many) {
      expect(key.isWellFormed()).toBe(true);
      expect(Buffer.from(key).toString()).toBe(key);
    }
  });

  it('collide in scheme 1 under every seed, by the thousand', () => {
    for (const seed of seeds) expect(hashes(few, seed, 1)).toBe(1);
    for (const seed of seeds.slice(0, 20)) expect(hashes(many, seed, 1)).toBe(1);
  });

  it('do not collide in scheme 2', () => {
    for (const seed of seeds) expect(hashes(few, seed, 2)).toBe(2);
    for (const seed of seeds.slice(0, 20)) expect(hashes(many, seed, 2)).toBe(4_096);
  });
});
