import { describe, expect, it } from '@jest/globals';
import { positionsOf } from '#bloom';
import { Added, Removed, Settled, type Filter } from '#store';
import { discover, items, made, makeFilter, remove } from './calls.js';
import type { Subject } from './subject.js';

/** More than a page has cells, so two items share one. */
const MANY = 1_000;

export function queuedRemovalsContract(subject: Subject): void {
  const waiting = async (filter: Filter) =>
    (await subject.store.queue.lease(filter, 10, 60_000, made())).map(({ payload }) => payload);

  describe('a removal that changes nothing', () => {
    it('leaves a saturated item in the queue', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { kind: 'visited-set', semantics: 'multiset' });
      await discover(
        store,
        filter,
        items(20).map(() => 'a'),
      );
      expect(await remove(store, filter, ['a'])).toEqual([Removed.Saturated]);
      expect(await waiting(filter)).toEqual(['a']);
    });

    it('leaves an item queued whose counters another removal took, and it is queued twice if discovered again', async () => {
      const { store } = subject;
      // One counter per item, so removing one item can take all of another's counters.
      const filter = await makeFilter(store, { kind: 'visited-set', errorRate: 0.5, capacity: 10 });
      expect(filter.geometry.hashes).toBe(1);
      const other = sharer(filter, 'a');
      expect(await discover(store, filter, ['a'])).toEqual([Added.New]);
      expect(await remove(store, filter, [other, 'a'])).toEqual([Removed.Removed, Removed.Absent]);
      const [old] = await store.queue.lease(filter, 10, 60_000, made());
      expect(old).toMatchObject({ payload: 'a', attempt: 1 });
      expect(await discover(store, filter, ['a'])).toEqual([Added.New]);
      // No call removed it, so it is queued twice until one does.
      expect(await waiting(filter)).toEqual(['a']);
      expect(await remove(store, filter, ['a'])).toEqual([Removed.Removed]);
      expect([...(await store.queue.ack(filter, [old!.id], made()))]).toEqual([Settled.Unknown]);
      expect(await discover(store, filter, ['a'])).toEqual([Added.New]);
      const [anew] = await store.queue.lease(filter, 10, 60_000, made());
      expect(anew).toMatchObject({ payload: 'a', attempt: 1 });
      expect([...(await store.queue.ack(filter, [anew!.id], made()))]).toEqual([Settled.Done]);
      expect(await waiting(filter)).toEqual([]);
    });
  });
}

/** Another item with the same counter as `item`. */
function sharer({ seed, geometry }: Filter, item: string): string {
  const placeOf = (key: string) => {
    const { segment, page, cell } = positionsOf([key], seed, geometry);
    return [segment[0], page[0], cell[0]].join();
  };
  const found = items(MANY, 'other').find((key) => placeOf(key) === placeOf(item));
  if (found === undefined) throw new Error(`none of ${MANY} items shares the counter of ${item}`);
  return found;
}
