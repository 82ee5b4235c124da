import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { filterBytes, positionsOf, type Layer } from '#bloom';
import type { Filter, FilterStats, Part, Semantics } from '#store';
import { exportFile, importFile } from '../support/export-files.js';
import { Random, SEED } from '../support/random.js';
import { until } from '../support/until.js';
import {
  add,
  check,
  count,
  discover,
  expectRefusal,
  inBatches,
  items,
  keyed,
  made,
  makeFilter,
  remove,
  SEGMENTED,
  seedOf,
  tally,
  type FilterOptions,
} from './calls.js';
import type { Subject } from './subject.js';

const GROWING = { growsTo: Infinity, capacity: 200, errorRate: 1e-2 } as const;
const STEPS = 100;

const planOf = (filter: Filter): readonly Layer[] => filter.layers ?? [];
const bytesOf = (layers: readonly Layer[]): number =>
  layers.reduce((sum, { geometry }) => sum + filterBytes(geometry), 0);
const expectSums = ({ layers, ...stats }: FilterStats): void => {
  for (const name of ['items', 'nonZeroCells', 'saturatedCells'] as const) {
    expect(layers.reduce((sum, layer) => sum + layer[name], 0)).toBe(stats[name]);
  }
};

export function growthContract(subject: Subject): void {
  const make = (options: FilterOptions = {}): Promise<Filter> =>
    makeFilter(subject.store, { ...GROWING, ...options });
  const describeIt = (filter: Filter): Promise<FilterStats> => subject.store.describe(filter);

  describe('growth', () => {
    it.each<[Semantics, FilterOptions]>([
      ['set', {}],
      ['multiset', {}],
      ['set', { segmentation: SEGMENTED }],
      ['multiset', { segmentation: SEGMENTED }],
    ])(
      `is exact for a %s: no stored item is lost, and all can be removed, %j, SEED=${SEED}`,
      async (semantics, options) => {
        const random = new Random();
        const filter = await make({ semantics, seed: seedOf(random), ...options });
        const stored = new Map<string, number>();
        for (let step = 0; step < STEPS; step++) {
          // There are so many keys that none has more than a few copies. A counter that reached 15 couldn't be
          // decremented.
          const keys = Array.from({ length: 1 + random.below(80) }, () => `key ${random.below(20_000)}`);
          if (stored.size === 0 || random.below(100) < 75) {
            const answers = await add(subject.store, filter, keys);
            keys.forEach((key, i) => {
              // A set doesn't store an item that already tests positive. A multiset counts it, so it can be removed.
              if (answers[i] === 1 || semantics === 'multiset') stored.set(key, (stored.get(key) ?? 0) + 1);
            });
          } else {
            const all = [...stored.keys()];
            const present = [...new Set(keys.map(() => random.pick(all)))];
            expect(await remove(subject.store, filter, present)).toEqual(present.map(() => 1));
            for (const key of present) {
              const left = (stored.get(key) as number) - 1;
              if (left > 0) stored.set(key, left);
              else stored.delete(key);
            }
          }
          if (step % 10 === 9) {
            const present = [...stored.keys()];
            expect(await check(subject.store, filter, present)).toEqual(present.map(() => 1));
            const counts = await count(subject.store, filter, present);
            // One expectation for all keys: thousands of them would take more time than the store.
            const lost = present.filter((key, i) => !(counts[i]! >= Math.min(15, stored.get(key)!)));
            expect(lost).toEqual([]);
          }
        }
        const stats = await describeIt(filter);
        expect(stats.layers.length).toBeGreaterThan(2);
        expectSums(stats);
        expect(stats.saturatedCells).toBe(0);
        const copies = [...stored].flatMap(([key, n]) => Array.from({ length: n }, () => key));
        expect(tally(await inBatches(remove, subject.store, filter, copies), 1)).toBe(copies.length);
        expect(await describeIt(filter)).toMatchObject({ nonZeroCells: 0 });
      },
    );

    it('closes layers mid-batch: a batch of many times the capacity keeps the error rate', async () => {
      for (const options of [{}, { segmentation: SEGMENTED }, { type: 'standard' }] as FilterOptions[]) {
        const filter = await make({ capacity: 100, ...options });
        const answers = await add(subject.store, filter, items(4_000));
        expect(tally(answers, 1)).toBeGreaterThan(3_900);
        const { layers } = await describeIt(filter);
        expect(layers).toHaveLength(5);
        layers.slice(0, -1).forEach((layer, number) => {
          // A segment closes its layer at its share, rounded up.
          const { capacity } = planOf(filter)[number] as Layer;
          expect(layer.items).toBeGreaterThanOrEqual(0.95 * capacity);
          expect(layer.items).toBeLessThanOrEqual(capacity + filter.geometry.segments);
        });
        const wrong = tally(await inBatches(check, subject.store, filter, items(20_000, 'absent')), 1);
        // The promised rate is 1e-2. Allow six deviations.
        expect(wrong / 20_000).toBeLessThan(1e-2 + 6 * Math.sqrt(1e-2 / 20_000));
        expect(await check(subject.store, filter, items(4_000))).toEqual(items(4_000).map(() => 1));
      }
    });

    it('a set filled in small steps equals one filled at once', async () => {
      const random = new Random();
      const seed = seedOf(random);
      const [steps, once] = [await make({ seed }), await make({ seed })];
      const keys = items(1_500);
      const answers: number[] = [];
      for (let from = 0; from < keys.length; from += 7) {
        answers.push(...(await add(subject.store, steps, keys.slice(from, from + 7))));
      }
      expect(answers).toEqual(await add(subject.store, once, keys));
      const probes = items(3_000, 'absent');
      expect(await check(subject.store, steps, probes)).toEqual(await check(subject.store, once, probes));
      expect((await describeIt(steps)).layers).toEqual((await describeIt(once)).layers);
    });

    it('a restart changes nothing, and the filter keeps growing', async () => {
      const filter = await make({ kind: 'visited-set', segmentation: SEGMENTED });
      const keys = items(2_500);
      const answers = await inBatches(discover, subject.store, filter, keys);
      const { layers } = await describeIt(filter);
      await subject.reopen();
      const reopened = await subject.store.open(filter.name, filter.kind);
      expect(planOf(reopened)).toEqual(planOf(filter));
      expect((await describeIt(reopened)).layers).toEqual(layers);
      expect(await check(subject.store, reopened, keys)).toEqual(keys.map(() => 1));
      await add(subject.store, reopened, items(3_000, 'more'));
      const stored = keys.filter((_, i) => answers[i] === 1);
      expect(await check(subject.store, reopened, stored)).toEqual(stored.map(() => 1));
      expect(await remove(subject.store, reopened, stored)).toEqual(stored.map(() => 1));
    });

    it('an instance that knows of fewer layers continues and loses nothing', async () => {
      const other = await subject.harness.open();
      const filter = await make({ segmentation: SEGMENTED });
      const theirs = await other.open(filter.name, filter.kind);
      const stored: string[] = [];
      for (let turn = 0; turn < 30; turn++) {
        const [store, handle] = turn % 3 === 2 ? [other, theirs] : [subject.store, filter];
        const keys = items(100, `turn ${turn}`);
        const answers = await add(store, handle, keys);
        stored.push(...keys.filter((_, i) => answers[i] === 1));
      }
      for (const [store, handle] of [
        [other, theirs],
        [subject.store, filter],
      ] as const) {
        expect(await check(store, handle, stored)).toEqual(stored.map(() => 1));
        expect((await store.describe(handle)).layers.length).toBeGreaterThan(2);
      }
      expect(await remove(other, theirs, stored)).toEqual(stored.map(() => 1));
      expect(await describeIt(filter)).toMatchObject({ nonZeroCells: 0 });
    });

    it('repeating a call that closed a layer gives the same answers and changes nothing', async () => {
      const filter = await make({ segmentation: SEGMENTED });
      const operation = keyed();
      const answers = await add(subject.store, filter, items(1_000), operation);
      const before = await describeIt(filter);
      await add(subject.store, filter, items(1_000, 'others'));
      expect(await add(subject.store, filter, items(1_000), operation)).toEqual(answers);
      const after = await describeIt(filter);
      expect(after.duplicate - before.duplicate + after.added - before.added).toBe(1_000);
    });

    it('ends with FILTER_FULL before any change, and present items are still found', async () => {
      // At this rate, no item of this test tests positive by mistake.
      const plan = planOf(await make({ errorRate: 1e-9 }));
      const grown = await make({ growsTo: bytesOf(plan.slice(0, 2)), errorRate: 1e-9 });
      expect(planOf(grown)).toHaveLength(2);
      const room = 200 + 540;
      expect(tally(await add(subject.store, grown, items(room)), 1)).toBe(room);
      const before = await describeIt(grown);
      await expectRefusal(add(subject.store, grown, [...items(room), 'one more']), 'FILTER_FULL');
      expect(await describeIt(grown)).toEqual(before);
      expect(await add(subject.store, grown, items(room))).toEqual(items(room).map(() => 0));
    });

    it('counts towards a prefix’s quota: an add beyond it is refused, and present items are still found', async () => {
      const prefix = `t${randomUUID()}-`;
      const filter = await make({ name: `${prefix}a`, errorRate: 1e-6 });
      const plan = planOf(filter);
      const usage = async () => (await subject.store.usage([prefix]))[0];
      expect(await usage()).toEqual({ filters: 1, bytes: bytesOf(plan.slice(0, 1)) });
      const addWithin = async (keys: readonly string[], maxBytes: number) => {
        const positions = positionsOf(keys, filter.seed, filter.geometry);
        return subject.store.counters.add(filter, positions, { ...made(), quota: { prefix, maxBytes } });
      };
      await expectRefusal(addWithin(items(300), bytesOf(plan.slice(0, 2)) - 1), 'QUOTA_EXCEEDED');
      const { layers } = await describeIt(filter);
      expect(layers).toHaveLength(1);
      expect(layers[0]?.items).toBeLessThanOrEqual(200);
      expect(await usage()).toEqual({ filters: 1, bytes: bytesOf(plan.slice(0, 1)) });
      await addWithin(items(300), bytesOf(plan.slice(0, 2)));
      expect(await check(subject.store, filter, items(300))).toEqual(items(300).map(() => 1));
      expect((await describeIt(filter)).layers).toHaveLength(2);
      expect(await usage()).toEqual({ filters: 1, bytes: bytesOf(plan.slice(0, 2)) });
    });

    it('a batch that needs two layers fits the quota with both, or is refused', async () => {
      const prefix = `t${randomUUID()}-`;
      const filter = await make({ name: `${prefix}a`, errorRate: 1e-9 });
      const plan = planOf(filter);
      const addWithin = (keys: readonly string[], maxBytes: number) => {
        const positions = positionsOf(keys, filter.seed, filter.geometry);
        return subject.store.counters.add(filter, positions, { ...made(), quota: { prefix, maxBytes } });
      };
      // The store may already have made the second layer in advance.
      await addWithin(items(190), bytesOf(plan.slice(0, 2)));
      await expectRefusal(addWithin(items(900), bytesOf(plan.slice(0, 3)) - 1), 'QUOTA_EXCEEDED');
      const [usage] = await subject.store.usage([prefix]);
      expect(usage?.bytes).toBeLessThanOrEqual(bytesOf(plan.slice(0, 2)));
      await addWithin(items(900), bytesOf(plan.slice(0, 3)));
      expect(await check(subject.store, filter, items(900))).toEqual(items(900).map(() => 1));
    });

    it('an import beyond the quota is refused with all its layers and leaves nothing', async () => {
      const prefix = `t${randomUUID()}-`;
      const filter = await make();
      await add(subject.store, filter, items(1_000));
      const file = await exportFile(subject.store, filter);
      const kept = await subject.harness.kept();
      const bytes = bytesOf(planOf(filter).slice(0, 3));
      const name = `${prefix}a`;
      const importWithin = (maxBytes: number) =>
        importFile(subject.store, file, made(), name, 100_000, { prefix, maxBytes });
      await expectRefusal(importWithin(bytes - 1), 'QUOTA_EXCEEDED');
      expect(await subject.store.usage([prefix])).toEqual([{ filters: 0, bytes: 0 }]);
      await until('no data of the import is left', async () =>
        (await subject.harness.kept()).every((one) => kept.includes(one)),
      );
      const copy = await importWithin(bytes);
      expect(await check(subject.store, copy, items(1_000))).toEqual(items(1_000).map(() => 1));
      expect(await subject.store.usage([prefix])).toEqual([{ filters: 1, bytes }]);
    });

    it('clear returns the filter to one layer, and drop leaves nothing', async () => {
      const prefix = `t${randomUUID()}-`;
      const kept = await subject.harness.kept();
      const filter = await make({ name: `${prefix}a`, segmentation: SEGMENTED });
      await add(subject.store, filter, items(1_000));
      const cleared = await subject.store.clear(filter.name, 'filter', made());
      expect((await describeIt(cleared)).layers).toHaveLength(1);
      expect(await check(subject.store, cleared, items(1_000))).toEqual(items(1_000).map(() => 0));
      expect((await subject.store.usage([prefix]))[0]).toEqual({
        filters: 1,
        bytes: filterBytes(filter.geometry),
      });
      await add(subject.store, cleared, items(1_000));
      await subject.store.drop(cleared.name, 'filter', made());
      await subject.reopen();
      await until('no data of the filter is left', async () =>
        (await subject.harness.kept()).every((name) => kept.includes(name)),
      );
    });

    it('a repeated creation compares the requested parameters', async () => {
      const { store } = subject;
      const filter = await make();
      await add(store, filter, items(1_000));
      const again = { ...filter, layers: planOf(filter).slice(0, 2) };
      expect((await store.create(again, made())).created).toBe(false);
      const { layers: _, ...fixed } = filter;
      await expectRefusal(store.create(fixed, made()), 'FILTER_EXISTS');
    });

    it('a URL discovered while a grown set is exported is in the copy’s queue, or is new to the copy', async () => {
      const filter = await make({ kind: 'visited-set', errorRate: 1e-9 });
      await discover(subject.store, filter, items(2_000));
      expect((await describeIt(filter)).layers.length).toBeGreaterThan(2);
      const late = items(400, 'late');
      const parts: Part[] = [];
      for await (const part of subject.store.transfer.export(filter)) {
        // The first part comes from the queue. Closed layers are exported later.
        if (parts.length === 0) await discover(subject.store, filter, late);
        parts.push(part);
      }
      expect(parts[0]?.type).toBe('queue');
      const given = (async function* () {
        for (const part of parts) yield await Promise.resolve(part);
      })();
      const spec = { ...filter, name: `${filter.name}.copy` };
      const copy = await subject.store.transfer.import(spec, given, made());
      const seen = await check(subject.store, copy, late);
      const queued = new Set<string>();
      for (let leased = -1; leased !== 0;) {
        const entries = await subject.store.queue.lease(copy, 1_000, 3_600_000, made());
        for (const { payload } of entries) queued.add(payload);
        leased = entries.length;
      }
      expect(late.filter((url, i) => seen[i] === 1 && !queued.has(url))).toEqual([]);
      expect(items(2_000).filter((url) => !queued.has(url))).toEqual([]);
    });

    it('is exported and imported with all layers', async () => {
      for (const options of [{}, { type: 'standard' }, { semantics: 'multiset' }] as FilterOptions[]) {
        const filter = await make({ segmentation: SEGMENTED, ...options });
        const keys = items(2_500);
        const answers = await add(subject.store, filter, keys);
        const file = await exportFile(subject.store, filter);
        const copy = await importFile(subject.store, file, made(), `${filter.name}.copy`);
        expect(planOf(copy)).toEqual(planOf(filter));
        const { layers, items: held } = await describeIt(filter);
        expect(await describeIt(copy)).toMatchObject({ items: held, layers });
        const probes = [...keys, ...items(2_000, 'absent')];
        expect(await check(subject.store, copy, probes)).toEqual(await check(subject.store, filter, probes));
        if (filter.type === 'counting') {
          const stored = keys.filter((_, i) => answers[i] === 1);
          expect(await remove(subject.store, copy, stored)).toEqual(stored.map(() => 1));
          if (filter.semantics === 'set') expect(await describeIt(copy)).toMatchObject({ nonZeroCells: 0 });
        }
        await inBatches(add, subject.store, copy, items(6_000, 'later'));
        expect((await describeIt(copy)).layers.length).toBeGreaterThan(layers.length);
      }
    });
  });
}
