import { describe, expect, it } from '@jest/globals';
import { planLayers, positionsOf, type Positions } from '#bloom';
import { Random, SEED } from '../../../../../test/support/random.js';
import { Added, Removed, type Filter, type Semantics } from '../../port/index.js';
import { addBatch, checkBatch, countBatch, removeBatch } from './batches.js';
import { allocateCells } from '../layers/cell-memory.js';
import { FilterState } from '../filters/filter-state.js';

const OPERATIONS = 1_000_000;
const BATCH = 1_000;
const KEYS = 400_000;
const WHOLE = { maxSegmentBytes: 2 ** 24, minSegments: 1, minSegmentBytes: 1 };

function growing(semantics: Semantics, errorRate: number, seed: Uint8Array): FilterState {
  const sizing = { capacity: 20_000, errorRate };
  const layers = planLayers({ ...sizing, cellBits: 4 }, WHOLE, Infinity);
  const { geometry } = layers[0];
  const named = {
    name: 'seen',
    kind: 'filter',
    type: 'counting',
    generation: '0'.repeat(16),
    base: 0,
    spread: 1,
    createdAt: 0,
  } as const;
  const filter: Filter = { ...named, semantics, ...sizing, geometry, layers, seed };
  return new FilterState(filter, allocateCells(geometry), 0);
}

describe('a filter that grows', () => {
  it(`counts an item in the oldest layer that claims it, SEED=${SEED}`, () => {
    const random = new Random();
    const state = growing('multiset', 5e-2, random.bytes(16));
    const { stack, filter } = state;
    const places = (from: number): Positions =>
      positionsOf(
        Array.from({ length: BATCH }, (_, i) => `https://example.org/${from + i}`),
        filter.seed,
        filter.geometry,
      );
    const grow = () =>
      stack.grow(allocateCells(stack.plan[stack.layers.length]?.geometry ?? filter.geometry));
    for (let copy = 0; copy < 3; copy++) addBatch(state, places(0));
    for (let from = BATCH; stack.layers.length < 3; from += BATCH)
      addBatch(state, places(from), { grow: { own: grow } });
    // Newer layers also claim some of these items, but their counters are smaller.
    expect(Math.min(...countBatch(state, places(0)))).toBeGreaterThanOrEqual(3);
  });

  it.each<[Semantics, number]>([
    ['set', 5e-2],
    ['multiset', 5e-2],
    ['set', 1e-2],
    ['multiset', 1e-2],
  ])(
    `loses nothing in ${OPERATIONS} mixed operations that remove only stored items: %s at %d, SEED=${SEED}`,
    (semantics, errorRate) => {
      const random = new Random();
      const state = growing(semantics, errorRate, random.bytes(16));
      const { seed, geometry } = state.filter;
      const places = (keys: readonly number[]): Positions =>
        positionsOf(
          keys.map((key) => `https://example.org/${key}`),
          seed,
          geometry,
        );
      const { stack } = state;
      const grow = () => stack.grow(allocateCells(stack.plan[stack.layers.length]?.geometry ?? geometry));
      // For each key, how many copies can be removed.
      const stored = new Uint8Array(KEYS);
      const absent: number[] = [];
      let lost = 0;
      let refused = 0;
      for (let done = 0; done < OPERATIONS; done += BATCH) {
        const keys = Array.from({ length: BATCH }, () => random.below(KEYS));
        const chance = random.below(100);
        if (chance < 50) {
          const { answers } = addBatch(state, places(keys), { grow: { own: grow } });
          keys.forEach((key, i) => {
            if (answers[i] === Added.New || semantics === 'multiset') stored[key]!++;
          });
        } else if (chance < 75) {
          const present = [...new Set(keys)].filter((key) => (stored[key] as number) > 0);
          for (const answer of removeBatch(state, places(present)).answers) {
            if (answer === Removed.Absent) refused++;
          }
          for (const key of present) stored[key]!--;
        } else {
          const present = checkBatch(state, places(keys));
          keys.forEach((key, i) => {
            if ((stored[key] as number) > 0 && present[i] === 0) lost++;
            if ((stored[key] as number) === 0) absent.push(present[i] as number);
          });
        }
      }
      expect({ lost, refused }).toEqual({ lost: 0, refused: 0 });
      expect(state.layers.length).toBeGreaterThan(2);
      const all = [...stored.keys()].filter((key) => (stored[key] as number) > 0);
      expect(all.length).toBeGreaterThan(100_000);
      for (let from = 0; from < all.length; from += BATCH) {
        for (const one of checkBatch(state, places(all.slice(from, from + BATCH)))) lost += 1 - one;
      }
      expect(lost).toBe(0);
      // A set doesn't store false positives, so its error rate holds even when items come and go.
      const rate = absent.reduce((sum, one) => sum + one, 0) / absent.length;
      if (semantics === 'set') expect(rate).toBeLessThan(1.5 * errorRate);
    },
  );
});
