import { describe, expect, it } from '@jest/globals';
import { CounterModel } from '../support/counter-model.js';
import { add, check, count, inBatches, items, makeFilter, remove } from './calls.js';
import { expectCells } from './cells.js';
import type { Subject } from './subject.js';

const copies = (n: number) => Array.from({ length: n }, () => 'item');

export function saturationContract(subject: Subject): void {
  describe('G7 saturation is sticky and visible', () => {
    it('40 added, 39 removed: the counters reached 15 and stay there, and so does the item', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { semantics: 'multiset' });
      const { hashes } = filter.geometry;
      await add(store, filter, copies(40));
      expect(await store.describe(filter)).toMatchObject({ saturatedCells: hashes, items: 1 });
      expect(await remove(store, filter, copies(39))).toEqual(copies(39).map(() => 2));
      expect(await check(store, filter, ['item'])).toEqual([1]);
      expect(await count(store, filter, ['item'])).toEqual([15]);
      const stats = { items: 1, nonZeroCells: hashes, saturatedCells: hashes, removed: 0, refused: 39 };
      expect(await store.describe(filter)).toMatchObject(stats);
    });

    it('the fifteenth copy saturates: 14 copies can be removed, and 15 can’t', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { semantics: 'multiset' });
      await add(store, filter, copies(15));
      expect(await remove(store, filter, ['item'])).toEqual([2]);
      expect(await count(store, filter, ['item'])).toEqual([15]);
    });

    it('a counter at 15 stays while the item’s other counters change', async () => {
      const { store } = subject;
      // One small page, so that all items share counters.
      const filter = await makeFilter(store, { semantics: 'multiset', capacity: 10, errorRate: 0.01 });
      const model = new CounterModel(filter);
      expect(await add(store, filter, copies(20))).toEqual(model.add(copies(20)));
      const neighbours = items(400).filter((key) => sharesCells(filter, model, key));
      expect(neighbours.length).toBeGreaterThan(10);
      expect(await add(store, filter, neighbours.slice(0, 10))).toEqual(model.add(neighbours.slice(0, 10)));
      expect(await remove(store, filter, neighbours)).toEqual(model.remove(neighbours));
      expect(await count(store, filter, ['item'])).toEqual([15]);
      await expectCells(subject, filter, model);
    });

    it('70,000 copies of one item saturate its counters and no others', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { semantics: 'multiset' });
      const { hashes } = filter.geometry;
      const answers = await inBatches(add, store, filter, copies(70_000));
      expect(answers.reduce((sum, answer) => sum + answer, 0)).toBe(1);
      expect(answers[0]).toBe(1);
      expect(await count(store, filter, ['item'])).toEqual([15]);
      expect(await remove(store, filter, ['item'])).toEqual([2]);
      expect(await store.describe(filter)).toMatchObject({
        ...{ items: 1, added: 1, duplicate: 69_999, removed: 0, refused: 1 },
        ...{ nonZeroCells: hashes, saturatedCells: hashes },
      });
    });

    it('two counters of a byte never affect each other', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { semantics: 'multiset', capacity: 20, errorRate: 0.1 });
      const model = new CounterModel(filter);
      for (const key of items(20)) {
        const some = Array.from({ length: 20 }, () => key);
        expect(await add(store, filter, some)).toEqual(model.add(some));
        expect(await remove(store, filter, some)).toEqual(model.remove(some));
      }
      await expectCells(subject, filter, model);
    });
  });
}

/** Whether some, but not all, of the key's counters are at 15. */
function sharesCells(
  filter: ConstructorParameters<typeof CounterModel>[0],
  model: CounterModel,
  key: string,
) {
  const alone = new CounterModel(filter);
  alone.add([key]);
  const shared = alone.cells.filter((cell, i) => cell > 0 && model.cells[i] === 15).length;
  return shared > 0 && shared < filter.geometry.hashes;
}
