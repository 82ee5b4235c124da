import { describe, expect, it } from '@jest/globals';
import { positionsOf } from '#bloom';
import { clock } from '../support/clock.js';
import { add, check, deadline, expectRefusal, items, made, makeFilter, SEGMENTED } from './calls.js';
import { hostOptions } from './host-calls.js';
import type { Subject } from './subject.js';

const ROOMY = { capacity: 100, errorRate: 1e-6, segmentation: SEGMENTED } as const;

export function roomContract(subject: Subject): void {
  describe('the limit of FILTER_FULL', () => {
    it.each(['set', 'multiset'] as const)(
      'counts each item once, even if a batch repeats it: %s',
      async (semantics) => {
        const { store } = subject;
        const filter = await makeFilter(store, { ...ROOMY, semantics });
        const crowd = items(200).flatMap((key) => [key, key]);
        expect(await add(store, filter, crowd)).toEqual(crowd.map((_, i) => (i % 2 === 0 ? 1 : 0)));
        await expectRefusal(add(store, filter, ['one more', 'one more']), 'FILTER_FULL');
        expect(await check(store, filter, ['one more'])).toEqual([0]);
      },
    );

    it('includes items that another store added more than a second ago', async () => {
      const { name } = await makeFilter(subject.store, ROOMY);
      const other = await subject.harness.open();
      const [own, theirs] = [await subject.store.open(name, 'filter'), await other.open(name, 'filter')];
      await add(subject.store, own, ['seen']);
      await add(other, theirs, items(190));
      clock.advance(1_100);
      await expectRefusal(add(subject.store, own, items(20, 'more')), 'FILTER_FULL');
    });

    it('refuses a batch of many hosts before any change or not at all, even next to another batch', async () => {
      const { store, spread } = subject;
      const options = { capacity: 2_000, growsTo: 1 };
      const filter = await makeFilter(store, hostOptions({ maxUrls: 1 }, options, spread));
      const batches = ['a', 'b'].map((name) =>
        items(1_200, name).map((_, n) => `http://${name}${n}.example/`),
      );
      const outcomes = await Promise.all(
        batches.map((batch) => add(store, filter, batch).catch((error: unknown) => error)),
      );
      for (const [n, batch] of batches.entries()) {
        const isAdded = Array.isArray(outcomes[n]);
        if (!isAdded) expect(outcomes[n]).toMatchObject({ code: 'FILTER_FULL' });
        expect(await check(store, filter, batch)).toEqual(batch.map(() => (isAdded ? 1 : 0)));
      }
    });
  });

  describe('a standard filter', () => {
    it('has no counters to decrement, and a removal’s result says so', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { type: 'standard' });
      await add(store, filter, ['a']);
      const positions = positionsOf(['a'], filter.seed, filter.geometry);
      await expect(store.counters.remove(filter, positions, made())).rejects.toThrow(TypeError);
      await expect(store.counters.count(filter, positions, deadline())).rejects.toThrow(TypeError);
      expect(await check(store, filter, ['a'])).toEqual([1]);
    });
  });
}
