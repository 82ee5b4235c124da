import { describe, expect, it } from '@jest/globals';
import { add, check, items, makeFilter, SEGMENTED } from './calls.js';
import type { Subject } from './subject.js';

const ROUNDS = 10;
const ADDERS = 16;

export function atomicAddContract(subject: Subject): void {
  describe('G3 atomic test-and-add', () => {
    it.each(['set', 'multiset'] as const)(
      'of many concurrent adders of an item, through two stores, one is told "new": %s',
      async (semantics) => {
        const stores = [subject.store, await subject.harness.open()];
        const { name } = await makeFilter(subject.store, {
          ...{ semantics, capacity: 10_000, errorRate: 1e-6, segmentation: SEGMENTED },
        });
        const filters = await Promise.all(stores.map((store) => store.open(name, 'filter')));
        for (let round = 0; round < ROUNDS; round++) {
          const keys = items(50, `round ${round}`);
          const adders = Array.from({ length: ADDERS }, (_, i) => add(stores[i % 2]!, filters[i % 2]!, keys));
          const answers = await Promise.all(adders);
          const told = keys.map((_, i) => answers.reduce((sum, answer) => sum + answer[i]!, 0));
          expect(told).toEqual(keys.map(() => 1));
        }
      },
    );

    it('of the copies inside a batch, the first is new', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { segmentation: SEGMENTED });
      const keys = Array.from({ length: 300 }, (_, i) => `item ${i % 100}`);
      expect(await add(store, filter, keys)).toEqual(keys.map((_, i) => (i < 100 ? 1 : 0)));
      expect(await check(store, filter, keys)).toEqual(keys.map(() => 1));
    });
  });
}
