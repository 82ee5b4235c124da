import { describe, expect, it } from '@jest/globals';
import { foldDuplicates, positionsOf } from '#bloom';
import {
  add,
  check,
  FEW_SEGMENTS,
  type FilterOptions,
  items,
  keyed,
  makeFilter,
  SEGMENTED,
} from './calls.js';
import type { Subject } from './subject.js';
import { SyncCalls } from './sync-calls.js';

const ROUNDS = 10;
const ADDERS = 16;
const COPIES = 5;
const SHAPES: readonly FilterOptions[] = [
  {},
  { segmentation: SEGMENTED },
  { type: 'standard' },
  { kind: 'visited-set' },
  { kind: 'visited-set', growsTo: Infinity, capacity: 100, segmentation: SEGMENTED },
  { kind: 'visited-set', maxAgeSeconds: 86_400, segmentation: SEGMENTED },
];

export function atomicAddContract(subject: Subject): void {
  describe('G3 atomic test-and-add', () => {
    it.each(['set', 'multiset'] as const)(
      'gives "new" to one of many concurrent adds of an item through two stores: %s',
      async (semantics) => {
        const stores = [subject.store, await subject.harness.open()];
        const { name } = await makeFilter(subject.store, {
          ...{ semantics, capacity: 10_000, errorRate: 1e-6, segmentation: FEW_SEGMENTS },
        });
        const filters = await Promise.all(stores.map((store) => store.open(name, 'filter')));
        for (let round = 0; round < ROUNDS; round++) {
          const keys = items(50, `round ${round}`);
          const adders = Array.from({ length: ADDERS }, (_, i) => add(stores[i % 2]!, filters[i % 2]!, keys));
          const answers = await Promise.all(adders);
          const told = keys.map((_, i) => answers.reduce((sum, answer) => sum + answer[i]!, 0));
          expect(told).toEqual(keys.map(() => 1));
        }
      },
    );

    it('gives "new" to the first of several copies in a batch', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { segmentation: SEGMENTED });
      const keys = Array.from({ length: 300 }, (_, i) => `item ${i % 100}`);
      expect(await add(store, filter, keys)).toEqual(keys.map((_, i) => (i < 100 ? 1 : 0)));
      expect(await check(store, filter, keys)).toEqual(keys.map(() => 1));
    });

    it.each(SHAPES)(
      'counts all copies in a batch except the first as duplicates, once, with and without a sync: %j',
      async (options) => {
        const { store } = subject;
        const filter = await makeFilter(store, { errorRate: 1e-7, ...options });
        const calls = new SyncCalls(subject);
        const expectCopiesCounted = async (prefix: string, folded: boolean) => {
          const current = await calls.current(filter);
          const distinct = items(150, prefix);
          const keys = Array.from({ length: COPIES }, () => distinct).flat();
          const all = positionsOf(keys, current.seed, current.geometry);
          const batch = folded ? foldDuplicates(all)!.positions : all;
          const payloads = filter.kind === 'visited-set' ? keys.slice(0, batch.count) : undefined;
          const before = await store.describe(current);
          const operation = keyed();
          const first = await store.counters.add(current, batch, operation, { payloads });
          expect([...first]).toEqual(Array.from({ length: batch.count }, (_, i) => (i < 150 ? 1 : 0)));
          expect(await store.counters.add(current, batch, operation, { payloads })).toEqual(first);
          const after = await store.describe(current);
          expect(after.added - before.added).toBe(150);
          expect(after.duplicate - before.duplicate).toBe((COPIES - 1) * 150);
        };
        await expectCopiesCounted('whole', false);
        await expectCopiesCounted('folded', true);
        await calls.open(filter);
        await expectCopiesCounted('whole in a sync', false);
        await expectCopiesCounted('folded in a sync', true);
      },
    );
  });
}
