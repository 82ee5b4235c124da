import { describe, expect, it } from '@jest/globals';
import { CounterModel } from '../support/counter-model.js';
import { Random, SEED } from '../support/random.js';
import {
  add,
  check,
  count,
  FEW_SEGMENTS,
  inBatches,
  items,
  made,
  makeFilter,
  remove,
  SEGMENTED,
  seedOf,
  tally,
} from './calls.js';
import { expectCells } from './cells.js';
import type { Subject } from './subject.js';

const STEPS = 250;

export function noFalseNegativesContract(subject: Subject): void {
  describe('G1 no false negatives', () => {
    it.each(['set', 'multiset'] as const)(
      `random calls match an exact %s, SEED=${SEED}`,
      async (semantics) => {
        const { store } = subject;
        const random = new Random();
        const options = { semantics, seed: seedOf(random), segmentation: SEGMENTED };
        let filter = await makeFilter(store, options);
        let model = new CounterModel(filter);
        let exact = new Map<string, number>();
        for (let step = 0; step < STEPS; step++) {
          const keys = Array.from({ length: 1 + random.below(40) }, () => `key ${random.below(600)}`);
          const chance = random.below(100);
          if (chance < 35) {
            const answers = await add(store, filter, keys);
            expect(answers).toEqual(model.add(keys));
            // A set doesn't store an item that tested positive when it was added.
            keys.forEach((key, i) => {
              const more = semantics === 'multiset' || answers[i] === 1 ? 1 : 0;
              exact.set(key, Math.min(more + (exact.get(key) ?? 0), semantics === 'set' ? 1 : Infinity));
            });
          } else if (chance < 60) {
            const present = takeable(keys, exact);
            expect(await remove(store, filter, present)).toEqual(model.remove(present));
          } else if (chance < 98) {
            expect(await check(store, filter, keys)).toEqual(model.check(keys));
            expect(await count(store, filter, keys)).toEqual(model.count(keys));
          } else {
            filter = await store.clear(filter.name, 'filter', made());
            model = new CounterModel(filter);
            exact = new Map();
          }
          const present = [...exact].filter(([, copies]) => copies > 0).map(([key]) => key);
          if (step % 20 === 0) expect(await check(store, filter, present)).toEqual(present.map(() => 1));
        }
        expect(await store.describe(filter)).toMatchObject(model.stats());
      },
    );

    it('after every fifth added word is removed and the store reopened, all other words are present', async () => {
      const words = items(10_000, 'word');
      const filter = await makeFilter(subject.store, {
        ...{ semantics: 'multiset', capacity: 10_000, errorRate: 1e-2, segmentation: SEGMENTED },
      });
      const model = new CounterModel(filter);
      expect(await inBatches(add, subject.store, filter, words)).toEqual(model.add(words));
      const fifth = words.filter((_, i) => i % 5 === 0);
      expect(await inBatches(remove, subject.store, filter, fifth)).toEqual(model.remove(fifth));

      await subject.reopen();
      const reopened = await subject.store.open(filter.name, 'filter');
      const answers = await inBatches(check, subject.store, reopened, words);
      expect(
        tally(
          answers.filter((_, i) => i % 5 !== 0),
          0,
        ),
      ).toBe(0);
      expect(answers).toEqual(model.check(words));
      expect(await subject.store.describe(reopened)).toMatchObject(model.stats());
    });

    it('with many writers through two stores, every item added and not removed is present', async () => {
      const stores = [subject.store, await subject.harness.open()];
      // The filter is large and has few writers, so no counter reaches 15, and the calls' order has no effect. At a
      // tenth of this capacity, one seed in 170 put three shared items, six times each, in one cell.
      const { name } = await makeFilter(subject.store, {
        ...{ semantics: 'multiset', capacity: 50_000, errorRate: 1e-6, segmentation: FEW_SEGMENTS },
      });
      const writers = Array.from({ length: 6 }, async (_, writer) => {
        const store = stores[writer % 2]!;
        const filter = await store.open(name, 'filter');
        for (let round = 0; round < 5; round++) {
          const own = items(20, `writer ${writer} round ${round}`);
          const shared = items(20, `round ${round}`);
          await add(store, filter, [...own, ...shared]);
          expect(await check(store, filter, [...own, ...shared])).toEqual(items(40).map(() => 1));
          if (round % 2 === 0) {
            expect(await remove(store, filter, [...own, ...shared])).toEqual(items(40).map(() => 1));
          }
        }
      });
      await Promise.all(writers);

      const filter = await subject.store.open(name, 'filter');
      const model = new CounterModel(filter);
      for (const round of [1, 3]) {
        for (let writer = 0; writer < 6; writer++) {
          model.add([...items(20, `writer ${writer} round ${round}`), ...items(20, `round ${round}`)]);
        }
      }
      await expectCells(subject, filter, model);
    });
  });
}

/** Removes the keys that the exact multiset contains from it, and returns them. */
function takeable(keys: readonly string[], exact: Map<string, number>): string[] {
  return keys.filter((key) => {
    const copies = exact.get(key) ?? 0;
    if (copies > 0) exact.set(key, copies - 1);
    return copies > 0;
  });
}
