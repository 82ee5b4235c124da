import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { positionsOf } from '#bloom';
import { encodeExportFile, Kept, type Filter, type FilterStats, type Part } from '#store';
import { epochMs } from '../../libs/store/src/age.js';
import { clock } from '../support/clock.js';
import { collect, exportFile, importFile, readFile } from '../support/export-files.js';
import { Random, SEED } from '../support/random.js';
import { until } from '../support/until.js';
import {
  add,
  check,
  discover,
  expectRefusal,
  type FilterOptions,
  items,
  made,
  makeFilter,
  remove,
  SEGMENTED,
  seedOf,
  tally,
} from './calls.js';
import type { Subject } from './subject.js';
import { SyncCalls } from './sync-calls.js';

/** Long enough that nothing expires during a test. */
const AGEING = { kind: 'visited-set', maxAgeSeconds: 86_400, errorRate: 1e-7 } as const;
const SHAPES: readonly FilterOptions[] = [
  AGEING,
  { ...AGEING, segmentation: SEGMENTED },
  { ...AGEING, growsTo: Infinity, capacity: 100, segmentation: SEGMENTED },
];
const STEPS = 100;
const KEYS = 1_500;

/** Rules for filters that age, on every store. ageing.spec.ts tests how their items expire. */
export function ageingContract(subject: Subject): void {
  const calls = new SyncCalls(subject);
  const stats = async (filter: Filter): Promise<FilterStats> =>
    subject.store.describe(await calls.current(filter));
  const hiddenIn = async (filter: Filter) => (await stats(filter)).age!.hidden;
  /**
   * A filter like FORGOTTEN, so full that many items share every cell with other items. `counted` leaves out items that
   * tested positive when they were added.
   */
  const crowded = async (options: FilterOptions = {}): Promise<{ filter: Filter; counted: string[] }> => {
    const seed = seedOf(new Random(SEED));
    const filter = await makeFilter(subject.store, {
      ...{ ...AGEING, capacity: 400, errorRate: 0.1, seed },
      ...options,
    });
    const added = await add(subject.store, filter, items(700));
    return { filter, counted: items(700).filter((_, n) => added[n] === 1) };
  };

  describe('filters that age', () => {
    beforeEach(() => clock.toStartOf(epochMs(AGEING.maxAgeSeconds)));

    it.each(SHAPES)('contain added items, not removed ones, and grow: %j', async (options) => {
      const { store } = subject;
      const filter = await makeFilter(store, options);
      expect(tally(await add(store, filter, items(450)), 1)).toBe(450);
      expect(tally(await add(store, filter, items(450)), 0)).toBe(450);
      expect(tally(await check(store, filter, items(450)), 1)).toBe(450);
      expect(tally(await check(store, filter, items(450, 'other')), 1)).toBe(0);
      const described = await stats(filter);
      expect(Math.abs(described.items - 450)).toBeLessThan(25);
      expect(described.layers.length).toBe(options.growsTo === undefined ? 1 : 3);
      expect(described).toMatchObject({ added: 450, duplicate: 450 });
      expect(tally(await remove(store, filter, items(450)), 1)).toBe(450);
      expect(tally(await check(store, filter, items(450)), 1)).toBe(0);
      expect(tally(await remove(store, filter, items(450)), 0)).toBe(450);
      expect(await stats(filter)).toMatchObject({ items: 0, nonZeroCells: 0, removed: 450, refused: 450 });
    });

    it('add present items again, even if the estimated count exceeds the limit', async () => {
      const { store } = subject;
      const random = new Random(SEED);
      let overfull = false;
      // Only some seeds lead to an overestimate.
      for (let round = 0; !overfull && round < 50; round++) {
        const filter = await makeFilter(store, {
          ...{ ...AGEING, capacity: 50, errorRate: 0.1, seed: seedOf(random) },
        });
        const present: string[] = [];
        for (let n = 0; ; n++) {
          const { items: before } = await stats(filter);
          overfull = before > 100;
          if (before >= 100) break;
          const batch = items(100 - before, `batch ${n}`);
          await add(store, filter, batch);
          present.push(...batch);
        }
        // In a new epoch the Redis store estimates the count again.
        clock.advance(epochMs(AGEING.maxAgeSeconds));
        expect(await add(store, filter, present)).toEqual(present.map(() => 0));
        await expectRefusal(add(store, filter, items(50, 'other')), 'FILTER_FULL');
      }
      expect(overfull).toBe(true);
    });

    it('agree with an exact set in a random walk of adds, removals, checks and restarts', async () => {
      const random = new Random(SEED);
      const filter = await makeFilter(subject.store, {
        ...{ ...AGEING, growsTo: Infinity, capacity: 100, segmentation: SEGMENTED },
        seed: seedOf(random),
      });
      const model = new Set<string>();
      for (let step = 0; step < STEPS; step++) {
        const { store } = subject;
        const current = await calls.current(filter);
        const keys = [
          ...new Set(Array.from({ length: random.below(40) }, () => `key ${random.below(KEYS)}`)),
        ];
        const expected = keys.map((key) => (model.has(key) ? 1 : 0));
        const chance = random.below(100);
        if (chance < 50) {
          expect([step, await add(store, current, keys)]).toEqual([step, expected.map((was) => 1 - was)]);
          for (const key of keys) model.add(key);
        } else if (chance < 75) {
          expect([step, await remove(store, current, keys)]).toEqual([step, expected]);
          for (const key of keys) model.delete(key);
        } else if (chance < 97) {
          expect([step, await check(store, current, keys)]).toEqual([step, expected]);
        } else {
          await subject.reopen();
        }
      }
    }, 60_000);

    it('report an item as absent once it is forgotten, even if other items keep its cells, and accept it again', async () => {
      for (const segmentation of [undefined, SEGMENTED]) {
        const { filter, counted } = await crowded(segmentation && { segmentation });
        const { store } = subject;
        const some = counted.slice(0, 150);
        expect(tally(await remove(store, filter, some), 1)).toBe(some.length);
        expect(await hiddenIn(filter)).toBeGreaterThan(0);
        expect(tally(await check(store, filter, some), 1)).toBe(0);
        expect(tally(await check(store, filter, counted.slice(150)), 0)).toBe(0);
        expect(tally(await remove(store, filter, some), 0)).toBe(some.length);
        expect(tally(await check(store, filter, counted.slice(150)), 0)).toBe(0);
        await add(store, filter, some);
        expect(tally(await check(store, filter, counted), 0)).toBe(0);
        expect(await hiddenIn(filter)).toBe(0);
      }
    });

    it('export everything, including hidden items, and the copy behaves like the original', async () => {
      for (const segmentation of [undefined, SEGMENTED]) {
        const { filter, counted } = await crowded(segmentation && { segmentation });
        const { store } = subject;
        await discover(store, filter, items(5, 'queued'));
        await remove(store, filter, counted.slice(0, 150));
        const hidden = await hiddenIn(filter);
        expect(hidden).toBeGreaterThan(0);
        const file = await exportFile(store, filter);
        const { header, parts } = await readFile(file);
        expect(header.maxAgeSeconds).toBe(86_400);
        const exported = parts.flatMap((part) => (part.type === 'hidden' ? part.items : []));
        expect(exported).toHaveLength(hidden);
        const copy = await importFile(store, file, made(), `copy-${randomUUID()}`);
        expect(copy.maxAgeSeconds).toBe(86_400);
        const asked = [...items(700), ...items(300, 'never')];
        expect(await check(store, copy, asked)).toEqual(await check(store, filter, asked));
        const [one, other] = [await stats(filter), await stats(copy)];
        expect(other).toMatchObject({ items: one.items, nonZeroCells: one.nonZeroCells });
        expect(other.age).toEqual(one.age);
        expect(tally(await check(store, copy, counted.slice(0, 150)), 1)).toBe(0);
        expect(tally(await add(store, copy, counted.slice(0, 150)), 1)).toBeGreaterThanOrEqual(hidden);
        expect(tally(await check(store, copy, counted), 0)).toBe(0);
      }
    });

    it('refuse an import with pages from the far future, and hide imported items no longer than the cells allow', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, AGEING);
      await add(store, filter, ['here', 'there']);
      const { header, parts } = await readFile(await exportFile(store, filter));
      const { hash } = positionsOf(['here'], filter.seed, filter.geometry);
      const bytes = Buffer.alloc(16);
      for (let word = 0; word < 4; word++) bytes.writeUInt32BE(hash[word]!, 4 * word);
      const hidden: Part = { type: 'hidden', segment: 0, items: [{ hash: bytes, until: 2 ** 32 - 1 }] };
      const file = (of: readonly Part[]) => collect(encodeExportFile(header, toAsync(of)));
      const copy = await importFile(store, await file([hidden, ...parts]), made(), `copy-${randomUUID()}`);
      expect(await check(store, copy, ['here', 'there'])).toEqual([0, 1]);
      expect(await add(store, copy, ['here'])).toEqual([1]);
      const late = parts.map((part): Part => {
        if (part.type !== 'cells') return part;
        const cells = Buffer.from(part.cells);
        cells.writeUInt32LE(2 ** 32 - 1, 0);
        return { ...part, cells };
      });
      const name = `late-${randomUUID()}`;
      await expect(importFile(store, await file(late), made(), name)).rejects.toThrow(
        /a page has epoch 4294967295, more than a day ahead of the clock/,
      );
      await expectRefusal(store.open(name, 'visited-set', { fresh: true }), 'FILTER_NOT_FOUND');
    });

    it('queue new items, remove forgotten ones from the queue, and queue returning ones again', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { ...AGEING, segmentation: SEGMENTED });
      expect(tally(await discover(store, filter, items(20)), 1)).toBe(20);
      expect(tally(await discover(store, filter, items(20)), 1)).toBe(0);
      await remove(store, filter, items(10));
      expect(tally(await discover(store, filter, items(5)), 1)).toBe(5);
      const leased = await store.queue.lease(filter, 100, 60_000, made());
      const payloads = leased.map(({ payload }) => payload).sort();
      expect(payloads).toEqual([...items(5), ...items(20).slice(10)].sort());
    });

    it.each(SHAPES)(
      'sync: listed items stay, unlisted ones go, and forgotten items stay forgotten: %j',
      async (options) => {
        const filter = await makeFilter(subject.store, options);
        const [listed, left, fresh, gone] = ['listed', 'left', 'fresh', 'gone'].map((name) =>
          items(80, name),
        ) as [string[], string[], string[], string[]];
        await calls.add(filter, [...listed, ...left, ...gone]);
        const sync = await calls.open(filter);
        expect(tally(await calls.keep(filter, sync, listed), Kept.Present)).toBe(80);
        expect(tally(await calls.keep(filter, sync, fresh), Kept.New)).toBe(80);
        expect(tally(await calls.remove(filter, gone), 1)).toBe(80);
        expect(tally(await calls.keep(filter, sync, gone), Kept.Forgotten)).toBe(80);
        expect(tally(await calls.add(filter, [...listed, ...fresh]), 1)).toBe(0);
        expect(tally(await calls.add(filter, items(40, 'added')), 1)).toBe(40);
        expect(tally(await calls.check(filter, [...listed, ...left, ...fresh]), 1)).toBe(240);
        expect(await calls.get(filter, sync)).toMatchObject({ listed: 160, new: 80 });
        expect(await calls.commit(filter, sync)).toMatchObject({ state: 'committed' });
        expect(tally(await calls.check(filter, [...listed, ...fresh, ...items(40, 'added')]), 1)).toBe(200);
        expect(tally(await calls.check(filter, [...left, ...gone]), 1)).toBe(0);
        expect(tally(await calls.remove(filter, [...listed, ...fresh, ...items(40, 'added')]), 1)).toBe(200);
        expect(await stats(filter)).toMatchObject({ items: 0, nonZeroCells: 0 });
        const another = await calls.open(filter);
        await calls.keep(filter, another, ['x']);
        await calls.abandon(filter, another);
        expect(await calls.check(filter, ['x'])).toEqual([0]);
        await subject.reopen();
        expect(await calls.add(filter, ['x'])).toEqual([1]);
      },
    );

    it('keep items forgotten if they were forgotten before or during a sync, even in a full set', async () => {
      const { filter, counted } = await crowded();
      const [before, during, kept] = [counted.slice(0, 80), counted.slice(80, 160), counted.slice(160)];
      await calls.remove(filter, before);
      // In the sync's layers, no item tests positive because of other items' cells.
      const sync = await calls.open(filter, { capacity: 700, errorRate: 1e-7 });
      await calls.keep(filter, sync, [...kept, ...during]);
      expect(tally(await calls.remove(filter, during), 1)).toBe(during.length);
      expect(tally(await calls.check(filter, [...before, ...during]), 1)).toBe(0);
      expect(tally(await calls.check(filter, kept), 0)).toBe(0);
      await calls.commit(filter, sync);
      expect(tally(await calls.check(filter, kept), 0)).toBe(0);
      expect(tally(await calls.check(filter, during), 1)).toBe(0);
      expect(tally(await calls.add(filter, during), 1)).toBe(during.length);
      expect(tally(await calls.check(filter, [...kept, ...during]), 0)).toBe(0);
    });

    it('leave no data behind when they are cleared or dropped', async () => {
      const kept = new Set(await subject.harness.kept());
      const { filter, counted } = await crowded();
      await remove(subject.store, filter, counted.slice(0, 150));
      const sync = await calls.open(filter);
      await calls.keep(filter, sync, counted.slice(150, 200));
      await calls.commit(filter, sync);
      await subject.store.clear(filter.name, filter.kind, made());
      expect(tally(await calls.check(filter, counted), 1)).toBe(0);
      expect(await calls.add(filter, ['x'])).toEqual([1]);
      await subject.store.drop(filter.name, filter.kind, made());
      await until('no data of the filter is left', async () =>
        (await subject.harness.kept()).every((one) => kept.has(one)),
      );
    });
  });
}

async function* toAsync<T>(values: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* values;
}
