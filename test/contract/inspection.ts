import { describe, expect, it } from '@jest/globals';
import type { Geometry } from '#bloom';
import { MOST_SAMPLED_PAGES, type Filter, type Finding, type LayerSample } from '#store';
import { CounterModel } from '../support/counter-model.js';
import {
  add,
  check,
  count,
  deadline,
  explain as explainIn,
  expectRefusal,
  expectStale,
  items,
  made,
  makeFilter,
  remove,
  SEGMENTED,
  seedOf,
  type FilterOptions,
} from './calls.js';
import { Random, SEED } from '../support/random.js';
import type { Subject } from './subject.js';
import { SyncCalls } from './sync-calls.js';

const AGEING = { kind: 'visited-set', maxAgeSeconds: 86_400 } as const;
const GROWING = { growsTo: Infinity, capacity: 100 } as const;

const SHAPES: readonly FilterOptions[] = [
  {},
  { semantics: 'multiset', segmentation: SEGMENTED },
  { type: 'standard', segmentation: SEGMENTED },
  { errorRate: 1e-8 },
  GROWING,
  { ...GROWING, segmentation: SEGMENTED },
  AGEING,
  { ...AGEING, ...GROWING, segmentation: SEGMENTED },
];

const bitsOf = ({ geometry }: Filter): Geometry['cellBits'] => geometry.cellBits;

/** A cell as BITFIELD would read it. */
function cellIn(bytes: Uint8Array, index: number, bits: Geometry['cellBits']): number {
  const [byte, shift] = [Math.floor((index * bits) / 8), 8 - bits - ((index * bits) % 8)];
  return (bytes[byte]! >> shift) & (2 ** bits - 1);
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** Rules for the inspection of cells, on every store. */
export function inspectionContract(subject: Subject): void {
  const explain = (filter: Filter, keys: readonly string[]): Promise<Finding[]> =>
    explainIn(subject.store, filter, keys);
  const sample = (filter: Filter): Promise<LayerSample[]> =>
    subject.store.inspection.sample(filter, deadline());

  describe('inspection', () => {
    it.each(SHAPES)('explains check’s answers, item by item: %j', async (options) => {
      const filter = await makeFilter(subject.store, options);
      const stored = items(450);
      await add(subject.store, filter, stored);
      if (filter.type === 'counting') await remove(subject.store, filter, items(40));
      const asked = [...items(60), ...items(40, 'absent')];
      const found = await explain(filter, asked);
      const answers = await check(subject.store, filter, asked);
      expect(found.map(({ present }) => Number(present))).toEqual(answers);
      const { layers } = await subject.store.describe(filter);
      for (const { layers: each, hidden, present } of found) {
        expect(each).toHaveLength(layers.length);
        expect(each.some(({ claims }) => claims) && !hidden).toBe(present);
        for (const { claims, cells, until } of each) {
          expect(new Set(cells.map(({ index }) => index)).size).toBe(filter.geometry.hashes);
          expect(claims).toBe(cells.every(({ value }) => value > 0));
          expect(until !== undefined).toBe(claims && filter.maxAgeSeconds !== undefined);
        }
      }
      if (filter.type === 'standard' || filter.maxAgeSeconds !== undefined) return;
      const counts = await count(subject.store, filter, asked);
      const least = found.map(({ layers: each }) => {
        const oldest = each.find(({ claims }) => claims);
        return oldest ? Math.min(...oldest.cells.map(({ value }) => value)) : 0;
      });
      expect(least).toEqual(counts);
    });

    it.each(SHAPES)('locates the cells in their segments’ bytes: %j', async (options) => {
      const filter = await makeFilter(subject.store, options);
      await add(subject.store, filter, items(90));
      for (const { layers } of await explain(filter, items(90))) {
        const [first] = layers;
        const bytes = await subject.harness.segmentBytes(filter, first!.segment);
        for (const { index, value } of first!.cells) {
          const stored = cellIn(bytes, index, bitsOf(filter));
          expect(filter.maxAgeSeconds === undefined ? stored : stored >> 4).toBe(value);
        }
      }
    });

    it('an empty batch has no findings', async () => {
      const filter = await makeFilter(subject.store, { segmentation: SEGMENTED });
      expect(await explain(filter, [])).toEqual([]);
      await subject.store.drop(filter.name, 'filter', made());
      await expectRefusal(explain(filter, []), 'FILTER_NOT_FOUND');
    });

    it('gives the time when a set that ages stops claiming an item', async () => {
      const filter = await makeFilter(subject.store, AGEING);
      const { age } = await subject.store.describe(filter);
      await add(subject.store, filter, ['long']);
      await add(subject.store, filter, ['short'], undefined, 1_000);
      const [long, short] = await explain(filter, ['long', 'short']);
      const epochs = (found: Finding | undefined) => found!.layers[0]!.until! / age!.epochMs - age!.epoch;
      // The last epoch may begin while the test runs.
      expect([epochs(long) - 14, epochs(short) - 1].map((late) => late >= 0 && late <= 1)).toEqual([
        true,
        true,
      ]);
    });

    it(`tells which items are hidden, SEED=${SEED}`, async () => {
      const seed = seedOf(new Random(SEED));
      const filter = await makeFilter(subject.store, { ...AGEING, capacity: 400, errorRate: 0.1, seed });
      const added = await add(subject.store, filter, items(700));
      const counted = items(700).filter((_, n) => added[n] === 1);
      const gone = counted.slice(0, 90);
      await remove(subject.store, filter, gone);
      const found = await explain(filter, gone);
      expect(found.map(({ present }) => present)).toEqual(gone.map(() => false));
      // Once a later removal has taken one of its cells, an item is no longer claimed and needn't be hidden.
      const claimed = found.filter(({ layers }) => layers.some(({ claims }) => claims));
      expect(claimed.length).toBeGreaterThan(0);
      expect(found.filter(({ hidden }) => hidden)).toEqual(claimed);
    });

    it('shows only the filter’s own layers while a sync is open, and the new ones after it', async () => {
      const calls = new SyncCalls(subject);
      const filter = await makeFilter(subject.store, { segmentation: SEGMENTED });
      await add(subject.store, filter, ['kept', 'dropped']);
      const id = await calls.open(filter, { errorRate: 1e-5 });
      await calls.keep(filter, id, ['kept', 'listed']);
      const present = async (of: Filter): Promise<boolean[]> =>
        (await explain(of, ['kept', 'dropped', 'listed'])).map((found) => found.present);
      expect(await present(await calls.current(filter))).toEqual([true, true, false]);
      await calls.commit(filter, id);
      await expectStale(explain(filter, ['kept']));
      expect(await present(await calls.current(filter))).toEqual([true, false, true]);
      expect(sumOf((await sample(await calls.current(filter)))[0]!.values.slice(1))).toBeGreaterThan(0);
    });

    it.each<FilterOptions>([
      { semantics: 'multiset' },
      { semantics: 'multiset', segmentation: SEGMENTED },
      { type: 'standard', segmentation: SEGMENTED },
    ])('samples all of a small filter: %j', async (options) => {
      const filter = await makeFilter(subject.store, options);
      const model = new CounterModel(filter);
      for (const keys of [items(400), items(100), Array.from({ length: 20 }, () => 'often')]) {
        await add(subject.store, filter, keys);
        model.add(keys);
      }
      const values = new Array<number>(options.type === 'standard' ? 2 : 16).fill(0);
      for (const cell of model.cells) values[Math.min(cell, values.length - 1)]!++;
      const { segments, pagesPerSegment } = filter.geometry;
      const pages = segments * pagesPerSegment;
      expect(pages).toBeLessThanOrEqual(MOST_SAMPLED_PAGES);
      expect(await sample(filter)).toEqual([{ pages, sampledPages: pages, values }]);
    });

    it.each<FilterOptions>([AGEING, { ...AGEING, ...GROWING, segmentation: SEGMENTED }, GROWING])(
      'samples every layer, and its live cells match the description: %j',
      async (options) => {
        const filter = await makeFilter(subject.store, options);
        await add(subject.store, filter, items(450));
        await remove(subject.store, filter, items(50));
        const { layers } = await subject.store.describe(filter);
        const samples = await sample(filter);
        expect(samples.map(({ values: [, ...above] }) => sumOf(above))).toEqual(
          layers.map(({ nonZeroCells }) => nonZeroCells),
        );
        const planned = filter.layers ?? [filter];
        expect(samples.map(({ values }) => sumOf(values))).toEqual(
          samples.map(({ sampledPages }, n) => sampledPages * planned[n]!.geometry.pageCells),
        );
      },
    );

    it('samples a bounded part of a large filter, with different pages each time', async () => {
      const filter = await makeFilter(subject.store, {
        ...{ capacity: 200_000, errorRate: 1e-2, segmentation: { ...SEGMENTED, maxSegmentBytes: 65_536 } },
      });
      await add(subject.store, filter, items(5_000));
      const { segments, pagesPerSegment, pageCells } = filter.geometry;
      const shares = new Set<number>();
      for (const _ of Array(5)) {
        const [one, ...others] = await sample(filter);
        expect(others).toEqual([]);
        expect(one).toMatchObject({ pages: segments * pagesPerSegment, sampledPages: MOST_SAMPLED_PAGES });
        expect(sumOf(one!.values)).toBe(MOST_SAMPLED_PAGES * pageCells);
        shares.add(one!.values[0]!);
      }
      expect(shares.size).toBeGreaterThan(1);
    });
  });
}
