import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Kept, type Filter, type FilterStats } from '#store';
import { exportFile, importFile } from '../support/export-files.js';
import { Random, SEED } from '../support/random.js';
import { count, items, made, makeFilter, SEGMENTED, seedOf, tally, type FilterOptions } from './calls.js';
import { SyncCalls } from './sync-calls.js';
import type { Subject } from './subject.js';

/** So low that no test meets a false positive. */
const RARE = 1e-7;
const SHAPES: readonly FilterOptions[] = [
  { errorRate: RARE },
  { errorRate: RARE, segmentation: SEGMENTED },
  { errorRate: RARE, growsTo: Infinity, capacity: 100 },
  { errorRate: RARE, growsTo: Infinity, capacity: 100, segmentation: SEGMENTED, kind: 'visited-set' },
  { errorRate: RARE, type: 'standard' },
];
const STEPS = 120;
const KEYS = 4_000;

const name = (): string => `copy-${randomUUID()}`;
const all = (keys: readonly unknown[], answer: number): number[] => keys.map(() => answer);

export function syncsContract(subject: Subject): void {
  const calls = new SyncCalls(subject);
  const make = (options: FilterOptions = {}): Promise<Filter> =>
    makeFilter(subject.store, { errorRate: RARE, ...options });
  const stats = async (filter: Filter): Promise<FilterStats> =>
    subject.store.describe(await calls.current(filter));

  describe('syncs', () => {
    it.each(SHAPES)('keep listed items and items added since, and forget the rest: %j', async (options) => {
      const filter = await make(options);
      const [listed, left, fresh, added] = ['listed', 'left', 'fresh', 'added'].map((name) =>
        items(150, name),
      ) as [string[], string[], string[], string[]];
      await calls.add(filter, [...listed, ...left]);
      const sync = await calls.open(filter);
      expect(sync).toMatchObject({ state: 'open', listed: 0, new: 0, items: 300, kept: 0 });
      expect(await calls.keep(filter, sync, listed)).toEqual(all(listed, Kept.Present));
      expect(await calls.keep(filter, sync, fresh)).toEqual(all(fresh, Kept.New));
      expect(await calls.add(filter, added)).toEqual(all(added, 1));
      expect(await calls.add(filter, listed.slice(0, 10))).toEqual(all(listed.slice(0, 10), 0));
      expect(await calls.check(filter, [...listed, ...left, ...fresh, ...added])).toEqual(all(items(600), 1));
      expect(await calls.get(filter, sync)).toMatchObject({ listed: 300, new: 150, items: 450, kept: 300 });
      expect((await stats(filter)).sync).toMatchObject({ id: sync.id, state: 'open' });
      expect(await calls.commit(filter, sync)).toMatchObject({
        ...{ id: sync.id, state: 'committed', listed: 300, new: 150, items: 450, kept: 300 },
      });
      expect(await calls.check(filter, [...listed, ...fresh, ...added])).toEqual(all(items(450), 1));
      expect(await calls.check(filter, left)).toEqual(all(left, 0));
      expect(await stats(filter)).toMatchObject({ items: 450 });
      expect((await stats(filter)).sync).toBeUndefined();
    });

    it('that are abandoned change nothing', async () => {
      const filter = await make({ growsTo: Infinity, capacity: 100 });
      await calls.add(filter, items(300));
      const sync = await calls.open(filter);
      await calls.keep(filter, sync, items(50, 'listed'));
      await calls.add(filter, items(50, 'added'));
      expect(await calls.abandon(filter, sync)).toMatchObject({ state: 'abandoned' });
      expect(await calls.check(filter, [...items(300), ...items(50, 'added')])).toEqual(all(items(350), 1));
      expect(await calls.check(filter, items(50, 'listed'))).toEqual(all(items(50), 0));
      expect(await calls.remove(filter, [...items(300), ...items(50, 'added')])).toEqual(all(items(350), 1));
      expect(await stats(filter)).toMatchObject({ items: 0, nonZeroCells: 0 });
    });

    it('don’t restore an item that was removed while they were open, whether it is listed before or after its removal', async () => {
      for (const segmentation of [undefined, SEGMENTED]) {
        const filter = await make(segmentation ? { segmentation } : {});
        await calls.add(filter, ['before', 'after', 'saved', 'other']);
        const sync = await calls.open(filter);
        await calls.keep(filter, sync, ['before', 'other']);
        expect(await calls.remove(filter, ['before', 'after', 'saved', 'absent'])).toEqual([1, 1, 1, 0]);
        expect(await calls.keep(filter, sync, ['after', 'before', 'absent', 'saved'])).toEqual(
          all(items(4), Kept.Forgotten),
        );
        expect(await calls.check(filter, ['before', 'after', 'absent', 'saved', 'other'])).toEqual([
          0, 0, 0, 0, 1,
        ]);
        // Once the URL is visited again, it is in the set and may be listed.
        expect(await calls.add(filter, ['saved', 'absent'])).toEqual([1, 1]);
        expect(await calls.keep(filter, sync, ['saved'])).toEqual([Kept.Present]);
        expect(await calls.get(filter, sync)).toMatchObject({ items: 3, kept: 3, listed: 3 });
        await calls.commit(filter, sync);
        expect(await calls.check(filter, ['before', 'after', 'absent', 'saved', 'other'])).toEqual([
          0, 0, 1, 1, 1,
        ]);
      }
    });

    it('accept an empty batch, even after a removal', async () => {
      for (const options of [{}, { kind: 'visited-set', segmentation: SEGMENTED }] as FilterOptions[]) {
        const filter = await make(options);
        const sync = await calls.open(filter);
        for (let round = 0; round < 2; round++) {
          expect(await calls.add(filter, [])).toEqual([]);
          expect(await calls.check(filter, [])).toEqual([]);
          expect(await calls.keep(filter, sync, [])).toEqual([]);
          expect(await calls.remove(filter, [])).toEqual([]);
          expect(await calls.remove(filter, ['absent'])).toEqual([0]);
        }
        await calls.commit(filter, sync);
      }
    });

    it('treat an item that only the sync lists as present, not as new', async () => {
      const filter = await make();
      const sync = await calls.open(filter);
      expect(await calls.keep(filter, sync, ['listed', 'listed'])).toEqual([Kept.New, Kept.Present]);
      expect(await calls.add(filter, ['listed', 'new', 'new'])).toEqual([0, 1, 0]);
      expect(await count(subject.store, await calls.current(filter), ['listed', 'new', 'absent'])).toEqual([
        1, 1, 0,
      ]);
      expect(await calls.remove(filter, ['listed'])).toEqual([1]);
      expect(await calls.check(filter, ['listed', 'new'])).toEqual([0, 1]);
      await calls.commit(filter, sync);
      expect(await calls.check(filter, ['listed', 'new'])).toEqual([0, 1]);
    });

    it.each<FilterOptions>([{}, { segmentation: SEGMENTED }, { growsTo: Infinity, capacity: 50 }])(
      'change capacity and error rate, up and down, repeatedly: %j',
      async (options) => {
        const filter = await make({ errorRate: 1e-3, ...options });
        let held = items(40);
        await calls.add(filter, held);
        for (const [round, plan] of [
          { capacity: 3_000, errorRate: 1e-5 },
          { capacity: 60_000, errorRate: 1e-2 },
          { capacity: 70, errorRate: 1e-3 },
          {},
        ].entries()) {
          const sync = await calls.open(filter, plan);
          held = [...held.slice(10), ...items(10, `round ${round}`)];
          await calls.keep(filter, sync, held);
          await calls.commit(filter, sync);
          const now = await calls.current(filter);
          expect(now).toMatchObject({ ...plan, generation: filter.generation, spread: filter.spread });
          expect(await calls.check(filter, held)).toEqual(all(held, 1));
          expect(tally(await calls.add(filter, items(5, `more ${round}`)), 1)).toBeGreaterThan(3);
          await calls.remove(filter, items(5, `more ${round}`));
        }
        const now = await calls.current(filter);
        expect(now.original).toMatchObject({ capacity: filter.capacity, errorRate: 1e-3 });
        expect(await calls.remove(filter, held)).toEqual(all(held, 1));
        expect(await stats(filter)).toMatchObject({ items: 0, nonZeroCells: 0 });
      },
    );

    it.each<FilterOptions>([
      {},
      { segmentation: SEGMENTED },
      { kind: 'visited-set', segmentation: SEGMENTED },
    ])(`lose no new, kept or listed item, in any order of calls, %j, SEED=${SEED}`, async (options) => {
      const random = new Random();
      const filter = await make({
        ...{ growsTo: Infinity, capacity: 100, errorRate: RARE, seed: seedOf(random), ...options },
      });
      // `stored`: items that must be present. `kept`: items that must be present after the commit of an open sync.
      const stored = new Set<string>();
      let kept: Set<string> | undefined;
      let sync: { id: string } | undefined;
      for (let step = 0; step < STEPS; step++) {
        const keys = Array.from({ length: 1 + random.below(60) }, () => `key ${random.below(KEYS)}`);
        const act = random.below(100);
        if (act < 40) {
          const answers = await calls.add(filter, keys);
          keys.forEach((key, i) => {
            if (answers[i] === 1) stored.add(key);
            if (answers[i] === 1 || stored.has(key)) kept?.add(key);
          });
        } else if (act < 55) {
          // Removes only items whose result was "new", as G8 requires.
          const chosen = [...new Set(keys)].filter((key) => stored.has(key));
          expect(await calls.remove(filter, chosen)).toEqual(all(chosen, 1));
          for (const key of chosen) {
            stored.delete(key);
            kept?.delete(key);
          }
        } else if (act < 80) {
          sync ??= await calls.open(filter);
          kept ??= new Set();
          // A listed item that was not in the set is in it from then on.
          const answers = await calls.keep(filter, sync, keys);
          keys.forEach((key, i) => {
            if (answers[i] !== Kept.Forgotten) kept?.add(key);
          });
        } else if (act < 85 && sync && kept) {
          await calls.commit(filter, sync);
          stored.clear();
          for (const key of kept) stored.add(key);
          [sync, kept] = [undefined, undefined];
        } else if (act < 88 && sync) {
          await calls.abandon(filter, sync);
          [sync, kept] = [undefined, undefined];
        } else {
          const present = [...stored];
          expect(await calls.check(filter, present)).toEqual(all(present, 1));
        }
      }
      const present = [...stored];
      expect(await calls.check(filter, present)).toEqual(all(present, 1));
    });

    it('export the filter as it is before and after, and make an export in progress stale', async () => {
      const filter = await make({ growsTo: Infinity, capacity: 50 });
      await calls.add(filter, items(200));
      const sync = await calls.open(filter, { capacity: 400 });
      await calls.keep(filter, sync, [...items(100), ...items(50, 'listed')]);
      const during = await importFile(
        subject.store,
        await exportFile(subject.store, await calls.current(filter)),
        made(),
        name(),
      );
      expect(await calls.check(during, items(200))).toEqual(all(items(200), 1));
      expect(await calls.check(during, items(50, 'listed'))).toEqual(all(items(50), 0));
      const parts = subject.store.transfer.export(await calls.current(filter));
      await parts.next();
      await calls.commit(filter, sync);
      const rest = (async () => {
        for await (const part of parts) if (part.type === 'counts') return;
      })();
      await expect(rest).rejects.toMatchObject({ name: 'StaleFilterError' });
      const after = await importFile(
        subject.store,
        await exportFile(subject.store, await calls.current(filter)),
        made(),
        name(),
      );
      expect(after).toMatchObject({ capacity: 400, base: 0 });
      expect(await calls.check(after, [...items(100), ...items(50, 'listed')])).toEqual(all(items(150), 1));
      expect(await calls.check(after, items(200).slice(100))).toEqual(all(items(100), 0));
      await calls.add(after, items(600, 'more'));
      expect(await calls.check(after, [...items(100), ...items(600, 'more')])).toEqual(all(items(700), 1));
    });
  });
}
