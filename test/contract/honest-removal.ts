import { describe, expect, it } from '@jest/globals';
import { CounterModel } from '../support/counter-model.js';
import { add, check, inBatches, items, makeFilter, remove, SEGMENTED, tally } from './calls.js';
import { expectCells } from './cells.js';
import type { Subject } from './subject.js';

const CAPACITY = 20_000;
const ERROR_RATE = 1e-3;
const ABSENT = 5_000;

export function honestRemovalContract(subject: Subject): void {
  describe('G4 honest removal', () => {
    it('of an absent item changes nothing, and its result says so', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { errorRate: 1e-6, segmentation: SEGMENTED });
      const model = new CounterModel(filter);
      expect(await add(store, filter, items(500))).toEqual(model.add(items(500)));
      expect(await remove(store, filter, items(500, 'absent'))).toEqual(items(500).map(() => 0));
      await expectCells(subject, filter, model);
      expect(await store.describe(filter)).toMatchObject({ items: 500, removed: 0, refused: 500 });
    });

    it('is all or nothing: an item with only some counters above zero keeps them', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { capacity: 50, errorRate: 0.1 });
      const model = new CounterModel(filter);
      expect(await add(store, filter, items(50))).toEqual(model.add(items(50)));
      const absent = items(300, 'absent').filter((key) => model.check([key])[0] === 0);
      expect(await remove(store, filter, absent)).toEqual(absent.map(() => 0));
      await expectCells(subject, filter, model);
    });

    it('takes one copy at a time: 14 added, 13 removed, then the last', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { semantics: 'multiset' });
      const copies = (n: number) => Array.from({ length: n }, () => 'item');
      expect(await add(store, filter, copies(14))).toEqual([1, ...copies(13).map(() => 0)]);
      expect(await remove(store, filter, copies(13))).toEqual(copies(13).map(() => 1));
      expect(await check(store, filter, ['item'])).toEqual([1]);
      expect(await remove(store, filter, ['item', 'item'])).toEqual([1, 0]);
      expect(await check(store, filter, ['item'])).toEqual([0]);
      expect(await store.describe(filter)).toMatchObject({ items: 0, nonZeroCells: 0 });
    });

    /**
     * A removal of an absent item passes the guard with probability p, and then decrements k counters that aren't zero.
     * With probability s = P(c = 1 | c > 0) of c ~ Poisson(μ = kn/m), such a counter is at 1 and its owner is lost. So
     * each removal loses p·k·s items. The k counters depend on each other, so the deviation is at most k times the
     * square root, a generous bound.
     */
    it(`${ABSENT} removals of absent items lose no more than the predicted handful`, async () => {
      const { store } = subject;
      const filter = await makeFilter(store, {
        ...{ capacity: CAPACITY, errorRate: ERROR_RATE, segmentation: SEGMENTED },
      });
      const model = new CounterModel(filter);
      const present = items(CAPACITY);
      const added = await inBatches(add, store, filter, present);
      expect(added).toEqual(model.add(present));
      const absent = items(ABSENT, 'absent');
      expect(await inBatches(remove, store, filter, absent)).toEqual(model.remove(absent));

      const stored = present.filter((_, i) => added[i] === 1);
      const lost = tally(await inBatches(check, store, filter, stored), 0);
      const { hashes: k } = filter.geometry;
      const mean = (k * CAPACITY) / model.cells.length;
      const atOne = (mean * Math.exp(-mean)) / -Math.expm1(-mean);
      const predicted = ABSENT * ERROR_RATE * k * atOne;
      expect(lost).toBeLessThan(predicted + 4 * Math.sqrt(predicted * k));
      expect(predicted / CAPACITY).toBeLessThan(0.002);
      await expectCells(subject, filter, model);
    });
  });
}
