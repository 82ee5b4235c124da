import { describe, expect, it } from '@jest/globals';
import { foldDuplicates, positionsOf, type Positions } from '#bloom';
import type { Filter, Store } from '#store';
import { Random, SEED } from '../support/random.js';
import {
  add,
  addAbsent,
  check,
  count,
  expectRefusal,
  type FilterOptions,
  inBatches,
  items,
  keyed,
  made,
  makeFilter,
  remove,
  SEGMENTED,
  seedOf,
} from './calls.js';
import type { Subject } from './subject.js';

const SHAPES: readonly FilterOptions[] = [{}, { segmentation: SEGMENTED }];
const GROWING: FilterOptions = { capacity: 100, growsTo: Infinity };
const ROUNDS = 10;
const ADDERS = 16;

export function onlyAbsentContract(subject: Subject): void {
  const multiset = (options: FilterOptions = {}): Promise<Filter> =>
    makeFilter(subject.store, { semantics: 'multiset', errorRate: 1e-7, ...options });

  describe('an add of only absent items to a multiset', () => {
    it.each([...SHAPES, GROWING])('counts no item that is present: %j', async (options) => {
      const { store } = subject;
      const filter = await multiset(options);
      expect(await add(store, filter, ['a', 'b', 'b'])).toEqual([1, 1, 0]);
      expect(await addAbsent(store, filter, ['a', 'c', 'b'])).toEqual([0, 1, 0]);
      expect(await count(store, filter, ['a', 'b', 'c'])).toEqual([1, 2, 1]);
      expect(await store.describe(filter)).toMatchObject({ items: 3, added: 3, duplicate: 3 });
      expect(await add(store, filter, ['c'])).toEqual([0]);
      expect(await count(store, filter, ['c'])).toEqual([2]);
      expect(await remove(store, filter, ['c', 'c'])).toEqual([1, 1]);
      expect(await addAbsent(store, filter, ['c'])).toEqual([1]);
    });

    it.each([...SHAPES, GROWING])('adds the first of several copies in a batch: %j', async (options) => {
      const { store } = subject;
      const filter = await multiset({ capacity: 2_000, ...options });
      const keys = Array.from({ length: 4_000 }, (_, i) => `item ${i % 1_000}`);
      const answers = await addAbsent(store, filter, keys);
      // With layers, an item may test positive by mistake while the batch is added.
      const first = answers.filter((answer, i) => answer === 1 && i < 1_000).length;
      expect(first).toBeGreaterThan(990);
      expect(answers.slice(1_000)).toEqual(keys.slice(1_000).map(() => 0));
      expect(await count(store, filter, keys.slice(0, 1_000))).toEqual(keys.slice(0, 1_000).map(() => 1));
    });

    it('counts all copies in a batch except the first as duplicates', async () => {
      const { store } = subject;
      const filter = await multiset({ segmentation: SEGMENTED });
      const all = positionsOf([...items(100), ...items(100)], filter.seed, filter.geometry);
      const folded = foldDuplicates(all)?.positions as Positions;
      await store.counters.add(filter, all, made(), { onlyAbsent: true });
      expect(await store.describe(filter)).toMatchObject({ added: 100, duplicate: 100 });
      await store.counters.add(filter, folded, made(), { onlyAbsent: true });
      expect(await store.describe(filter)).toMatchObject({ added: 100, duplicate: 300 });
    });

    it('finds an item in each layer of a filter that has grown', async () => {
      const { store } = subject;
      for (const options of [GROWING, { ...GROWING, segmentation: SEGMENTED }]) {
        const filter = await multiset(options);
        const keys = items(1_500);
        await inBatches(add, store, filter, keys);
        const before = await store.describe(filter);
        expect(before.layers.length).toBeGreaterThan(2);
        const counts = await count(store, filter, keys);
        expect(await inBatches(addAbsent, store, filter, keys)).toEqual(keys.map(() => 0));
        expect(await count(store, filter, keys)).toEqual(counts);
        const { nonZeroCells, layers } = await store.describe(filter);
        expect({ nonZeroCells, layers }).toEqual({
          nonZeroCells: before.nonZeroCells,
          layers: before.layers,
        });
      }
    });

    it.each([...SHAPES, GROWING])(
      `changes what an add to a set changes: %j, SEED=${SEED}`,
      async (options) => {
        const { store } = subject;
        const random = new Random();
        const same = { capacity: 200, errorRate: 0.05, seed: seedOf(random), ...options };
        const [bag, set] = [await multiset(same), await makeFilter(store, same)];
        for (let step = 0; step < 40; step++) {
          const keys = Array.from({ length: 1 + random.below(12) }, () => `key ${random.below(400)}`);
          const [first, second] = random.below(3) === 0 ? [remove, remove] : [addAbsent, add];
          expect(await first(store, bag, keys)).toEqual(await second(store, set, keys));
        }
        const all = items(400, 'key');
        expect(await count(store, bag, all)).toEqual(await count(store, set, all));
        const { items: held, nonZeroCells, added, duplicate } = await store.describe(set);
        expect(await store.describe(bag)).toMatchObject({ items: held, nonZeroCells, added, duplicate });
      },
    );

    it('repeated with the same operation: the same answer, and no change', async () => {
      const { store } = subject;
      const filter = await multiset({ segmentation: SEGMENTED });
      const [keys, operation] = [items(300), keyed()];
      expect(await addAbsent(store, filter, keys, operation)).toEqual(keys.map(() => 1));
      expect(await addAbsent(store, filter, keys, operation)).toEqual(keys.map(() => 1));
      expect(await remove(store, filter, keys)).toEqual(keys.map(() => 1));
      expect(await addAbsent(store, filter, keys, operation)).toEqual(keys.map(() => 1));
      expect(await check(store, filter, keys)).toEqual(keys.map(() => 0));
      const other = { ...operation, fingerprint: 'another request' };
      await expectRefusal(addAbsent(store, filter, keys, other), 'IDEMPOTENCY_KEY_REUSED');
    });

    it('at the same time through two stores: one adds the item, and it counts once', async () => {
      const stores = [subject.store, await subject.harness.open()];
      const { name } = await multiset({ capacity: 10_000, segmentation: SEGMENTED });
      const opened = await Promise.all(stores.map((store) => store.open(name, 'filter')));
      for (let round = 0; round < ROUNDS; round++) {
        const keys = items(50, `round ${round}`);
        const adders = Array.from({ length: ADDERS }, (_, i) =>
          addAbsent(stores[i % 2] as Store, opened[i % 2] as Filter, keys),
        );
        const answers = await Promise.all(adders);
        const told = keys.map((_, i) => answers.reduce((sum, answer) => sum + (answer[i] as number), 0));
        expect(told).toEqual(keys.map(() => 1));
        expect(await count(subject.store, opened[0] as Filter, keys)).toEqual(keys.map(() => 1));
      }
    });

    it.each(SHAPES)('needs room for absent items only, in a full filter: %j', async (options) => {
      const { store } = subject;
      const filter = await multiset({ capacity: 100, ...options });
      await add(store, filter, items(200));
      const before = await store.describe(filter);
      expect(await addAbsent(store, filter, items(200))).toEqual(items(200).map(() => 0));
      await expectRefusal(addAbsent(store, filter, [...items(50), ...items(20, 'more')]), 'FILTER_FULL');
      expect(await store.describe(filter)).toMatchObject({ items: before.items, added: before.added });
    });

    it('leaves counters at 15 as they are', async () => {
      const { store } = subject;
      const filter = await multiset();
      await add(
        store,
        filter,
        Array.from({ length: 20 }, () => 'item'),
      );
      expect(await addAbsent(store, filter, ['item', 'other'])).toEqual([0, 1]);
      expect(await count(store, filter, ['item', 'other'])).toEqual([15, 1]);
      expect(await store.describe(filter)).toMatchObject({ saturatedCells: filter.geometry.hashes });
    });

    it.each<FilterOptions>([{}, { type: 'standard' }, { kind: 'visited-set' }, { maxAgeSeconds: 86_400 }])(
      'is an ordinary add for other filters: %j',
      async (options) => {
        const { store } = subject;
        const filter = await makeFilter(store, options);
        expect(await addAbsent(store, filter, ['a', 'a', 'b'])).toEqual([1, 0, 1]);
        expect(await addAbsent(store, filter, ['a', 'c'])).toEqual([0, 1]);
        expect(await check(store, filter, ['a', 'b', 'c', 'd'])).toEqual([1, 1, 1, 0]);
      },
    );
  });
}
