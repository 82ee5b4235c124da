import { describe, expect, it } from '@jest/globals';
import { CounterModel } from '../support/counter-model.js';
import { add, items, makeFilter, remove, SEGMENTED } from './calls.js';
import { expectCells } from './cells.js';
import type { Subject } from './subject.js';

export function restartsContract(subject: Subject): void {
  describe('restarts', () => {
    it('keep what changed since the one before: adds, removals, either alone', async () => {
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
        subject.store = await subject.harness.reopen();
        const reopened = await subject.store.open(name, 'filter');
        await expectCells(subject, reopened, model);
        expect(await subject.store.describe(reopened)).toMatchObject(model.stats());
      }
    });
  });
}
