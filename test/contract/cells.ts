import { describe, expect, it } from '@jest/globals';
import type { Filter } from '#store';
import { CounterModel } from '../support/counter-model.js';
import { add, check, count, FULL_WINDOW_SECONDS, items, makeFilter, remove, SEGMENTED } from './calls.js';
import type { Subject } from './subject.js';

const KINDS = [
  { type: 'counting', semantics: 'set' },
  { type: 'counting', semantics: 'multiset' },
  { type: 'standard', semantics: 'set' },
] as const;

/** Rates for both page shapes: offsets in a page take one byte or two. */
const RATES = [0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9];

export function cellsContract(subject: Subject): void {
  describe('empty batch', () => {
    it.each(KINDS)('has no results: $type, $semantics', async (kind) => {
      const { store } = subject;
      const filter = await makeFilter(store, kind);
      expect(await add(store, filter, [])).toEqual([]);
      expect(await check(store, filter, [])).toEqual([]);
      if (kind.type === 'standard') return;
      expect(await remove(store, filter, [])).toEqual([]);
      expect(await count(store, filter, [])).toEqual([]);
    });
  });

  describe('answers', () => {
    it.each(KINDS)('are one per item, in the order of the batch: $type, $semantics', async (kind) => {
      const { store } = subject;
      // At this rate, none of these items tests positive by mistake.
      const filter = await makeFilter(store, { ...kind, errorRate: 1e-9, segmentation: SEGMENTED });
      expect(filter.geometry.segments).toBeGreaterThan(1);
      const keys = items(500);
      const some = keys.filter((_, i) => i % 3 === 0);
      expect(await add(store, filter, some)).toEqual(some.map(() => 1));
      expect(await check(store, filter, keys)).toEqual(keys.map((_, i) => (i % 3 === 0 ? 1 : 0)));
      expect(await add(store, filter, keys)).toEqual(keys.map((_, i) => (i % 3 === 0 ? 0 : 1)));
      expect(await check(store, filter, keys)).toEqual(keys.map(() => 1));
    });

    it('of a set: a second add changes nothing, and one removal forgets the item', async () => {
      const { store } = subject;
      const filter = await makeFilter(store);
      expect(await add(store, filter, ['a'])).toEqual([1]);
      expect(await add(store, filter, ['a'])).toEqual([0]);
      expect(await count(store, filter, ['a', 'b'])).toEqual([1, 0]);
      expect(await remove(store, filter, ['a', 'a', 'b'])).toEqual([1, 0, 0]);
      expect(await check(store, filter, ['a'])).toEqual([0]);
    });

    it('of a multiset: every add counts one, and every removal takes one back', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { semantics: 'multiset' });
      expect(await add(store, filter, ['a', 'a', 'b', 'a'])).toEqual([1, 0, 1, 0]);
      expect(await count(store, filter, ['a', 'b', 'c'])).toEqual([3, 1, 0]);
      expect(await remove(store, filter, ['a', 'b', 'b', 'a'])).toEqual([1, 1, 0, 1]);
      expect(await check(store, filter, ['a', 'b'])).toEqual([1, 0]);
    });
  });

  describe('description', () => {
    it.each(KINDS)('counts adds, duplicates and removals: $type, $semantics', async (kind) => {
      const { store } = subject;
      const filter = await makeFilter(store, { ...kind, segmentation: SEGMENTED });
      const model = new CounterModel(filter);
      for (const keys of [items(300), items(50), items(20, 'other'), items(20, 'other')]) {
        expect(await add(store, filter, keys)).toEqual(model.add(keys));
      }
      if (kind.type === 'counting') {
        for (const keys of [items(70), items(30), items(30, 'absent')]) {
          expect(await remove(store, filter, keys)).toEqual(model.remove(keys));
        }
      }
      expect(await store.describe(filter)).toEqual({
        ...model.stats(),
        // A bit shows only that it is set.
        ...(kind.type === 'standard' ? bitStats(model) : {}),
        layers: [expect.objectContaining({ items: model.tally.items })],
        recordWindowSeconds: FULL_WINDOW_SECONDS,
      });
    });
  });

  describe('layout', () => {
    it.each(RATES)('of counters equals BITFIELD u4’s, byte for byte, p = %d', async (errorRate) => {
      const { store } = subject;
      const filter = await makeFilter(store, {
        ...{ errorRate, semantics: 'multiset', segmentation: SEGMENTED },
      });
      const model = new CounterModel(filter);
      for (const keys of [items(900), items(300), Array.from({ length: 20 }, () => 'often')]) {
        expect(await add(store, filter, keys)).toEqual(model.add(keys));
      }
      expect(await remove(store, filter, items(100))).toEqual(model.remove(items(100)));
      await expectCells(subject, filter, model);
    });

    it('of bits has the first cell in the highest bit', async () => {
      const filter = await makeFilter(subject.store, { type: 'standard' });
      const model = new CounterModel(filter);
      expect(await add(subject.store, filter, items(500))).toEqual(model.add(items(500)));
      const bytes = await subject.harness.segmentBytes(filter, 0);
      const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
      expect(bits).toBe(Array.from(model.cells, Math.sign).join(''));
    });
  });
}

function bitStats(model: CounterModel) {
  return { saturatedCells: 0, nonZeroCells: model.stats()['nonZeroCells'] };
}

/** Expects the segments to equal the model exactly. */
export async function expectCells(subject: Subject, filter: Filter, model: CounterModel): Promise<void> {
  for (let segment = 0; segment < filter.geometry.segments; segment++) {
    const bytes = await subject.harness.segmentBytes(filter, segment);
    const wanted = model.segmentBytes(segment);
    expect(bytes.length).toBe(wanted.length);
    const differing = Array.from(bytes.keys()).filter((at) => bytes[at] !== wanted[at]);
    expect(differing.map((at) => ({ segment, at, byte: bytes[at], wanted: wanted[at] }))).toEqual([]);
  }
}
