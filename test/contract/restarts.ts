import { describe, expect, it } from '@jest/globals';
import { CounterModel } from '../support/counter-model.js';
import { add, check, discover, expectRefusal, items, made, makeFilter, remove, SEGMENTED } from './calls.js';
import { expectCells } from './cells.js';
import { until } from '../support/until.js';
import type { Subject } from './subject.js';

export function restartsContract(subject: Subject): void {
  describe('restarts', () => {
    it('keep the changes since the previous one, adds only or removals only', async () => {
      const { name } = await makeFilter(subject.store, { semantics: 'multiset', segmentation: SEGMENTED });
      const model = new CounterModel(await subject.store.open(name, 'filter'));
      const steps = [
        { act: add, keys: items(300) },
        { act: remove, keys: items(100) },
        { act: add, keys: items(50, 'later') },
        { act: remove, keys: items(300) },
      ];
      for (const { act, keys } of steps) {
        const filter = await subject.store.open(name, 'filter');
        const expected = act === add ? model.add(keys) : model.remove(keys);
        expect(await act(subject.store, filter, keys)).toEqual(expected);
        await subject.reopen();
        const reopened = await subject.store.open(name, 'filter');
        await expectCells(subject, reopened, model);
        expect(await subject.store.describe(reopened)).toMatchObject(model.stats());
      }
    });

    it.each(['filter', 'visited-set'] as const)(
      'leave a dropped %s dropped, and a cleared one cleared',
      async (kind) => {
        const [dropped, cleared] = [
          await makeFilter(subject.store, { kind }),
          await makeFilter(subject.store, { kind }),
        ];
        for (const filter of [dropped, cleared]) await add(subject.store, filter, items(50));
        await subject.store.drop(dropped.name, kind, made());
        const { generation } = await subject.store.clear(cleared.name, kind, made());
        await subject.reopen();
        await expectRefusal(subject.store.open(dropped.name, kind), 'FILTER_NOT_FOUND');
        const { filters } = await subject.store.list(kind, 10, undefined, dropped.name);
        expect(filters).toEqual([]);
        const empty = await subject.store.open(cleared.name, kind);
        expect(empty.generation).toBe(generation);
        expect(await check(subject.store, empty, items(50))).toEqual(items(50).map(() => 0));
      },
    );
  });

  describe('the data of a filter', () => {
    it.each(['drop', 'clear'] as const)('is gone soon after a %s', async (how) => {
      const { store, harness } = subject;
      const kind = 'visited-set';
      const filter = await makeFilter(store, { kind, segmentation: SEGMENTED });
      await discover(store, filter, items(50));
      const own = (names: readonly string[]) => names.filter((name) => name.includes(filter.generation));
      await store[how](filter.name, kind, made());
      // The embedded store deletes in the background.
      await until('no data of the filter is left', async () => own(await harness.kept()).length === 0);
    });
  });
}
