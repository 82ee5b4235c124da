import { describe, expect, it } from '@jest/globals';
import { StaleFilterError, StoreError, type Filter, type FilterStats, type Store } from '#store';
import { CounterModel } from '../support/counter-model.js';
import type { Damage } from '../support/embedded-damage.js';
import { until } from '../support/until.js';
import {
  add,
  check,
  count,
  deadline,
  discover,
  explain,
  expectRefusal,
  FEW_SEGMENTS,
  items,
  made,
  makeFilter,
  remove,
  SEGMENTED,
} from './calls.js';
import { expectCells } from './cells.js';
import type { Subject } from './subject.js';

/** Every call on an open visited set. */
const CALLS: readonly (readonly [string, (store: Store, filter: Filter) => Promise<unknown>])[] = [
  ['add', (store, filter) => add(store, filter, items(100))],
  ['add with payloads', (store, filter) => discover(store, filter, items(100))],
  ['check', (store, filter) => check(store, filter, items(100))],
  ['remove', (store, filter) => remove(store, filter, items(100))],
  ['count', (store, filter) => count(store, filter, items(100))],
  ['describe', (store, filter) => store.describe(filter)],
  ['explain', (store, filter) => explain(store, filter, items(100))],
  ['sample', (store, filter) => store.inspection.sample(filter, deadline())],
  ['lease', (store, filter) => store.queue.lease(filter, 1_000, 1_000, made())],
];

export function dataLossContract(subject: Subject): void {
  describe('G6 never "not seen" by accident', () => {
    describe.each<Damage>(['missing', 'short'])('a segment that is %s', (how) => {
      it('is STORE_DATA_LOST for every call, and affects no other filter', async () => {
        const filter = await makeFilter(subject.store, { kind: 'visited-set', segmentation: SEGMENTED });
        const healthy = await makeFilter(subject.store, { segmentation: SEGMENTED });
        await discover(subject.store, filter, items(100));
        await add(subject.store, healthy, items(100));
        subject.store = await subject.harness.damage(filter, 1, how);
        const { store } = subject;
        const damaged = await store.open(filter.name, filter.kind);
        for (const [name, call] of CALLS) {
          const outcome = await call(store, damaged).catch((error: unknown) => error);
          expect([name, outcome]).toMatchObject([name, { code: 'STORE_DATA_LOST' }]);
        }
        const other = await store.open(healthy.name, 'filter');
        expect(await check(store, other, items(100))).toEqual(items(100).map(() => 1));
      });

      it('can be cleared, or dropped and created again', async () => {
        for (const repair of ['clear', 'drop'] as const) {
          const filter = await makeFilter(subject.store, { segmentation: SEGMENTED });
          await add(subject.store, filter, items(100));
          subject.store = await subject.harness.damage(filter, 1, how);
          const { store } = subject;
          await store[repair](filter.name, 'filter', made());
          if (repair === 'drop') await makeFilter(store, { name: filter.name, segmentation: SEGMENTED });
          const repaired = await store.open(filter.name, 'filter', { fresh: true });
          expect(await add(store, repaired, items(100))).toEqual(items(100).map(() => 1));
        }
      });
    });

    it('drop and create under one name while writers run: old positions change nothing', async () => {
      const stores = [subject.store, await subject.harness.open()];
      const options = { semantics: 'multiset', capacity: 20_000, segmentation: FEW_SEGMENTS } as const;
      const { name } = await makeFilter(subject.store, options);
      const acknowledged = new Map<string, string[]>();
      let running = true;
      const writers = Array.from({ length: 6 }, async (_, writer) => {
        const store = stores[writer % 2]!;
        for (let round = 0; running; round++) {
          await write(store, name, items(10, `writer ${writer} round ${round}`), acknowledged);
        }
      });
      try {
        for (let turn = 0; turn < 5; turn++) {
          await until('the writers have written', async () => acknowledged.size > turn);
          await stores[turn % 2]!.drop(name, 'filter', made());
          await makeFilter(stores[(turn + 1) % 2]!, { ...options, name });
        }
      } finally {
        running = false;
        await Promise.all(writers);
      }

      const filter = await subject.store.open(name, 'filter', { fresh: true });
      const model = new CounterModel(filter);
      model.add(acknowledged.get(filter.generation) ?? []);
      await expectCells(subject, filter, model);
      const { nonZeroCells, added, duplicate } = await subject.store.describe(filter);
      expect(nonZeroCells).toBe(model.stats()['nonZeroCells']);
      expect(added + duplicate).toBe(acknowledged.get(filter.generation)?.length ?? 0);
    });

    it('clear while writers run: a check of an acknowledged item is never wrong', async () => {
      const { name } = await makeFilter(subject.store, { segmentation: SEGMENTED, errorRate: 1e-6 });
      const other = await subject.harness.open();
      let running = true;
      let rounds = 0;
      const writer = async (id: number) => {
        for (let round = 0; running; round++, rounds++) {
          const keys = items(10, `writer ${id} round ${round}`);
          const filter = await subject.store.open(name, 'filter', { fresh: true });
          const outcome = await tolerant(async () => {
            expect(await add(subject.store, filter, keys)).toEqual(keys.map(() => 1));
            expect(await check(subject.store, filter, keys)).toEqual(keys.map(() => 1));
            expect(await remove(subject.store, filter, keys)).toEqual(keys.map(() => 1));
          });
          expect(['done', 'StaleFilterError']).toContain(outcome);
        }
      };
      const writers = [writer(0), writer(1), writer(2)];
      try {
        for (let turn = 1; turn <= 5; turn++) {
          await until('the writers have written', async () => rounds >= 3 * turn);
          await other.clear(name, 'filter', made());
        }
      } finally {
        running = false;
        await Promise.all(writers);
      }
      const filter = await subject.store.open(name, 'filter', { fresh: true });
      const empty: Partial<FilterStats> = { items: 0, nonZeroCells: 0 };
      expect(await subject.store.describe(filter)).toMatchObject(empty);
    });

    it('a description of a dropped filter is refused', async () => {
      const filter = await makeFilter(subject.store);
      await subject.store.drop(filter.name, 'filter', made());
      await expectRefusal(subject.store.describe(filter), 'FILTER_NOT_FOUND');
    });
  });
}

/** Adds the keys to the current generation, and records that generation. */
async function write(store: Store, name: string, keys: string[], acknowledged: Map<string, string[]>) {
  await tolerant(async () => {
    const filter = await store.open(name, 'filter');
    try {
      await add(store, filter, keys);
      const known = acknowledged.get(filter.generation) ?? [];
      acknowledged.set(filter.generation, [...known, ...keys]);
    } catch (error) {
      if (error instanceof StaleFilterError) await store.open(name, 'filter', { fresh: true });
      throw error;
    }
  });
}

/** Ignores errors that a clear or drop during a call may cause. Throws all other errors. */
async function tolerant(act: () => Promise<void>): Promise<string> {
  try {
    await act();
    return 'done';
  } catch (error) {
    if (error instanceof StaleFilterError) return error.name;
    const expected = ['FILTER_NOT_FOUND', 'FILTER_BUSY'];
    if (error instanceof StoreError && expected.includes(error.code)) return error.code;
    throw error;
  }
}
