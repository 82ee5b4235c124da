import { describe, expect, it } from '@jest/globals';
import { PagedErrorRate } from '#bloom';
import type { Filter } from '#store';
import { Random, SEED } from '../support/random.js';
import { CounterModel } from '../support/counter-model.js';
import {
  add,
  check,
  expectRefusal,
  inBatches,
  items,
  keyed,
  makeFilter,
  remove,
  SEGMENTED,
  seedOf,
  tally,
} from './calls.js';
import { expectCells } from './cells.js';
import type { Subject } from './subject.js';

const N = 20_000;
const P = 1e-2;
const REMOVED = 1 / 5;

export function limitsContract(subject: Subject): void {
  describe('G8 limits for a counting filter', () => {
    it('loses the predicted number of words after adding them, removing every fifth, and reopening', async () => {
      const words = items(N, 'word');
      const options = { capacity: N, errorRate: P, segmentation: SEGMENTED };
      const filter = await makeFilter(subject.store, options);
      const model = new CounterModel(filter);
      expect(await inBatches(add, subject.store, filter, words)).toEqual(model.add(words));
      const fifth = words.filter((_, i) => i % 5 === 0);
      expect(await inBatches(remove, subject.store, filter, fifth)).toEqual(model.remove(fifth));

      await subject.reopen();
      const reopened = await subject.store.open(filter.name, 'filter');
      const kept = words.filter((_, i) => i % 5 !== 0);
      const answers = await inBatches(check, subject.store, reopened, kept);
      expect(answers).toEqual(model.check(kept));
      const { lost, deviation } = predictedLoss(filter);
      expect(Math.abs(tally(answers, 0) - lost)).toBeLessThan(4 * deviation);
    });
  });

  describe('the count of items', () => {
    /**
     * A removal lowers the item count when it empties a counter, and an added item sets k counters. If the other
     * counters are saturated, and so never change, k items that were never added can empty those k counters one by one.
     * That takes k off the count for one added item.
     */
    it(`is never below zero, even after removing items that weren’t added (SEED=${SEED})`, async () => {
      const { store } = subject;
      const random = new Random();
      const saturating = Array.from({ length: 15 }, () => items(3, 'saturating')).flat();
      const absent = items(4_000, 'absent');
      let lowest = 0;
      // Some seeds need many rounds to find a filter whose count would fall below zero.
      for (let round = 0; round < 16 || (lowest === 0 && round < 200); round++) {
        const options = {
          semantics: 'multiset',
          capacity: 20,
          errorRate: 0.1,
          seed: seedOf(random),
        } as const;
        const filter = await makeFilter(store, options);
        const model = new CounterModel(filter);
        for (const keys of [saturating, items(12)]) {
          expect(await add(store, filter, keys)).toEqual(model.add(keys));
        }
        expect(await remove(store, filter, absent)).toEqual(model.remove(absent));
        await expectCells(subject, filter, model);
        expect((await store.describe(filter)).items).toBe(Math.max(0, model.tally.items));
        lowest = Math.min(lowest, model.tally.items);
      }
      // The model doesn't stop at zero, which proves that the bound was needed.
      expect(lowest).toBeLessThan(0);
    });
  });

  describe('FILTER_FULL', () => {
    it.each(['set', 'multiset'] as const)(
      'refuses a whole batch at twice the capacity, before any change: %s',
      async (semantics) => {
        const { store } = subject;
        const options = { semantics, capacity: 100, errorRate: 1e-6, segmentation: SEGMENTED };
        const filter = await makeFilter(store, options);
        const model = new CounterModel(filter);
        expect(await add(store, filter, items(150))).toEqual(model.add(items(150)));
        // Adds more than one item too many: some may test positive in a filter this full, and those need no room.
        await expectRefusal(add(store, filter, items(60, 'more')), 'FILTER_FULL');
        await expectCells(subject, filter, model);
        expect(await store.describe(filter)).toMatchObject(model.stats());
        // Items that are present need no room.
        const rest = [...items(150), ...items(50, 'more')];
        expect(await add(store, filter, rest)).toEqual(model.add(rest));
        await expectRefusal(add(store, filter, items(5, 'other')), 'FILTER_FULL');
        expect(await add(store, filter, rest)).toEqual(model.add(rest));
        expect(await remove(store, filter, ['item 0'])).toEqual(model.remove(['item 0']));
        await expectCells(subject, filter, model);
      },
    );

    it('refuses a keyed add if no part of it was applied', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { capacity: 100, errorRate: 1e-6, segmentation: SEGMENTED });
      await add(store, filter, items(150));
      await expectRefusal(add(store, filter, items(60, 'more'), keyed()), 'FILTER_FULL');
      expect((await store.describe(filter)).items).toBe(150);
    });

    it('doesn’t refuse the repeat of an add that filled the filter', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { capacity: 100, errorRate: 1e-6, segmentation: SEGMENTED });
      const operation = keyed();
      const first = await add(store, filter, items(200), operation);
      expect(await remove(store, filter, items(1))).toEqual([1]);
      const held = async () => (await store.describe(filter)).items;
      // Above the capacity some items test positive and add nothing.
      for (let n = 0; n < 100 && (await held()) < 200; n++) await add(store, filter, [`another ${n}`]);
      expect(await held()).toBe(200);
      expect(await add(store, filter, items(200), operation)).toEqual(first);
    });
  });
}

/**
 * How many of the kept items a set loses when a share f of N is removed. It uses the same letters as libs/bloom.
 *
 *   U    = Σ p(i), i = 1 … N: items never stored, because they tested positive when added
 *   μ    = kN/m, mean of a counter; a covered counter is Poisson(μ) given that it is not zero
 *   r(x) = (1 - e^(-μ(1-x))) / (1 - e^(-μ)): a covered counter is still covered once a share x is removed
 *   s(x) = P(it is at 1, given that it is not zero), at mean μ(1-x)
 *
 * U(1-f) kept items were never stored. Those that no longer test positive are lost: U(1-f)(1 - r(f)^k). A removal of
 * one of the other U·f passes the guard with probability r(x)^k at its turn x. It then empties k·s(x) counters, and
 * loses the owners that are kept: (1-f)/(1-x) of them. One such removal loses several items together, so the losses
 * deviate as a sum of clusters of k·s. False positives lie in crowded pages, whose counters are above the mean; 30 % is
 * allowed for that.
 */
function predictedLoss({ geometry }: Filter): { lost: number; deviation: number } {
  const { hashes: k, pageCells, pagesPerSegment, segments } = geometry;
  const pages = pagesPerSegment * segments;
  const rate = PagedErrorRate.of(pageCells, k);
  const STEPS = 100;
  const mean = (of: (x: number) => number) =>
    Array.from({ length: STEPS }, (_, i) => of((i + 0.5) / STEPS)).reduce((sum, y) => sum + y, 0) / STEPS;
  const unstored = N * mean((x) => rate.at((x * N) / pages));
  const mu = (k * N) / (pages * pageCells);
  const covered = (x: number) => Math.expm1(-mu * (1 - x)) / Math.expm1(-mu);
  const atOne = (x: number) => (mu * (1 - x)) / Math.expm1(mu * (1 - x));
  const forgotten = unstored * (1 - REMOVED) * (1 - covered(REMOVED) ** k);
  const passed = unstored * REMOVED * mean((t) => covered(t * REMOVED) ** k);
  const cluster = mean((t) => (k * atOne(t * REMOVED) * (1 - REMOVED)) / (1 - t * REMOVED));
  const lost = forgotten + passed * cluster;
  return { lost, deviation: Math.sqrt(forgotten + passed * cluster * (1 + cluster)) + (0.3 * lost) / 4 };
}
