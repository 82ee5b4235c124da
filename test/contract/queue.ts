import { describe, expect, it } from '@jest/globals';
import { MAX_LEASED_BYTES, Settled, type Filter } from '#store';
import { clock } from '../support/clock.js';
import { add, check, discover, items, made, makeFilter, remove, SEGMENTED } from './calls.js';
import type { Subject } from './subject.js';

/** Longer than any test takes. */
const LONG_MS = 60_000;

const EMPTY = { waiting: 0, leased: 0, delayed: 0, scheduled: 0, dead: 0, forgotten: 0 };

export function queueContract(subject: Subject): void {
  const visitedSet = (cut = SEGMENTED) =>
    makeFilter(subject.store, { kind: 'visited-set', segmentation: cut });
  const whole = () => makeFilter(subject.store, { kind: 'visited-set' });
  const lease = (filter: Filter, max: number, ms = LONG_MS) =>
    subject.store.queue.lease(filter, max, ms, made());
  const ack = async (filter: Filter, ids: string[]) => [
    ...(await subject.store.queue.ack(filter, ids, made())),
  ];
  const release = async (filter: Filter, ids: string[]) => [
    ...(await subject.store.queue.release(filter, ids, made())),
  ];
  const queued = async (filter: Filter) => {
    const { waiting, leased } = (await subject.store.describe(filter)).queue!;
    return { waiting, leased };
  };
  const idsOf = (entries: readonly { id: string }[]) => entries.map(({ id }) => id);

  describe('queue', () => {
    it('takes each new item once, with its payload unchanged', async () => {
      const filter = await visitedSet();
      await add(subject.store, filter, ['visited, not queued']);
      const keys = ['visited, not queued', 'b', 'https://ü.example/日本?x=😀', 'b', 'c\n\0d'];
      expect(await discover(subject.store, filter, keys)).toEqual([0, 1, 1, 0, 1]);
      expect(await queued(filter)).toEqual({ waiting: 3, leased: 0 });
      const leased = await lease(filter, 10);
      expect(leased.map(({ payload }) => payload).sort()).toEqual([keys[1], keys[2], keys[4]].sort());
      expect(leased.every(({ attempt }) => attempt === 1)).toBe(true);
      expect(new Set(idsOf(leased)).size).toBe(3);
      expect(await queued(filter)).toEqual({ waiting: 0, leased: 3 });
    });

    it('can be leased from as soon as it is filled', async () => {
      const filter = await whole();
      for (let round = 0; round < 50; round++) {
        await discover(subject.store, filter, items(4, `round ${round}`));
        expect(await lease(filter, 10)).toHaveLength(4);
      }
    });

    it('hands out entries in order of arrival', async () => {
      const filter = await whole();
      for (let from = 0; from < 60; from += 20) {
        await discover(subject.store, filter, items(60).slice(from, from + 20));
        clock.advance(2);
      }
      const payloads: string[] = [];
      for (let turn = 0; turn < 6; turn++) {
        payloads.push(...(await lease(filter, 10)).map(({ payload }) => payload));
      }
      expect(payloads).toEqual(items(60));
    });

    it('gives an entry to one of many simultaneous callers, and hands out all entries', async () => {
      const filter = await visitedSet();
      await discover(subject.store, filter, items(300));
      const other = await subject.harness.open();
      const theirs = await other.open(filter.name, filter.kind);
      const leases = Array.from({ length: 10 }, (_, i) =>
        i % 2 ? lease(filter, 40) : other.queue.lease(theirs, 40, LONG_MS, made()),
      );
      const payloads = (await Promise.all(leases)).flat().map(({ payload }) => payload);
      expect(payloads.sort()).toEqual(items(300).sort());
      expect(await lease(filter, 1)).toEqual([]);
    });

    it('leases nothing from an empty queue', async () => {
      const filter = await visitedSet();
      expect(await lease(filter, 1_000)).toEqual([]);
      expect(await ack(filter, [])).toEqual([]);
    });
  });

  describe('lease', () => {
    it('hides an entry until it ends, then hands it out again and counts its attempts', async () => {
      const filter = await whole();
      await discover(subject.store, filter, ['a']);
      const [first] = await lease(filter, 1);
      expect(first).toMatchObject({ payload: 'a', attempt: 1 });
      clock.advance(2 * LONG_MS);
      // Until the next call looks, stores may count the entry as waiting or as leased.
      const { waiting, leased } = await queued(filter);
      expect(waiting + leased).toBe(1);
      const [second] = await lease(filter, 1);
      expect(second).toMatchObject({ payload: 'a', attempt: 2 });
      expect(await lease(filter, 1)).toEqual([]);
      expect(await ack(filter, idsOf([first!]))).toEqual([Settled.Expired]);
      expect(await release(filter, idsOf([first!]))).toEqual([Settled.Expired]);
      expect(await ack(filter, idsOf([second!]))).toEqual([Settled.Done]);
      expect(await queued(filter)).toEqual({ waiting: 0, leased: 0 });
    });

    it('that has ended can’t be acknowledged, even if the entry wasn’t leased again', async () => {
      const filter = await whole();
      await discover(subject.store, filter, ['a']);
      const ids = idsOf(await lease(filter, 1));
      clock.advance(2 * LONG_MS);
      expect(await ack(filter, ids)).toEqual([Settled.Expired]);
      expect(await lease(filter, 1)).toMatchObject([{ payload: 'a', attempt: 2 }]);
    });

    it.each([1_000, 10])(
      'answers with at most 1 MiB of payloads, in order, and leaves the rest to the next lease: %d in one lease',
      async (max) => {
        const filter = await whole();
        const long = (n: number, bytes: number) => `${n}:`.padEnd(bytes, 'é') + '..';
        // The limit counts bytes of UTF-8: payloads two to five are exactly 1 MiB.
        const payloads = [5, 1, 1, 1, 1, 1, 5, 1].map((quarters, n) => long(n, quarters * 2 ** 17));
        for (const payload of payloads) {
          await discover(subject.store, filter, [payload]);
          clock.advance(2);
        }
        const operation = made();
        const first = await subject.store.queue.lease(filter, max, LONG_MS, operation);
        const numbers = (entries: readonly { payload: string }[]) =>
          entries.map(({ payload }) => Number(payload.split(':')[0]));
        expect(numbers(first)).toEqual([0]);
        expect(await subject.store.queue.lease(filter, max, LONG_MS, { ...operation, repeat: true })).toEqual(
          first,
        );
        expect(numbers(await lease(filter, max))).toEqual([1, 2, 3, 4]);
        expect(numbers(await lease(filter, max))).toEqual([5]);
        expect(numbers(await lease(filter, max))).toEqual([6]);
        expect(numbers(await lease(filter, max))).toEqual([7]);
        expect(await lease(filter, max)).toEqual([]);
      },
    );

    it('of many segments together answers with no more, and hands out everything in the end', async () => {
      const filter = await visitedSet();
      const payloads = Array.from({ length: 40 }, (_, n) => `${n}:`.padEnd(300_000, 'x'));
      for (const payload of payloads) await discover(subject.store, filter, [payload]);
      const found: string[] = [];
      for (let turn = 0; turn < payloads.length && found.length < payloads.length; turn++) {
        const leased = await lease(filter, 1_000);
        const bytes = leased.reduce((sum, { payload }) => sum + payload.length, 0);
        expect(bytes).toBeLessThanOrEqual(MAX_LEASED_BYTES);
        expect(leased.length).toBeGreaterThan(0);
        found.push(...leased.map(({ payload }) => payload));
      }
      expect(found.sort()).toEqual(payloads.sort());
    });

    it('survives a restart of the store', async () => {
      const filter = await visitedSet();
      await discover(subject.store, filter, items(10));
      const ids = idsOf(await lease(filter, 4));
      await subject.reopen();
      const reopened = await subject.store.open(filter.name, filter.kind);
      expect(await queued(reopened)).toEqual({ waiting: 6, leased: 4 });
      expect(await lease(reopened, 10)).toHaveLength(6);
      expect(await ack(reopened, ids)).toEqual(ids.map(() => Settled.Done));
    });
  });

  describe('ack and release', () => {
    it('settle an entry once, and ids without an entry and malformed ids are unknown', async () => {
      const filter = await visitedSet();
      await discover(subject.store, filter, items(20));
      const ids = idsOf(await lease(filter, 20));
      const strange = ['', 'x', 'nonsense-that-is-no-id', ids[0]!.slice(1), 'A'.repeat(28)];
      expect(await ack(filter, strange)).toEqual(strange.map(() => Settled.Unknown));
      expect(await ack(filter, [...ids.slice(0, 10), ids[0]!])).toEqual([
        ...ids.slice(0, 10).map(() => Settled.Done),
        Settled.Expired,
      ]);
      expect(await ack(filter, ids)).toEqual(ids.map((_, i) => (i < 10 ? Settled.Expired : Settled.Done)));
      expect(await queued(filter)).toEqual({ waiting: 0, leased: 0 });
      // The queue forgets its entries, and the filter keeps its items.
      expect(await check(subject.store, filter, items(20))).toEqual(items(20).map(() => 1));
    });

    it('release makes an entry available immediately, for another attempt', async () => {
      const filter = await visitedSet();
      await discover(subject.store, filter, items(5));
      const ids = idsOf(await lease(filter, 5));
      expect(ids).toHaveLength(5);
      expect(await release(filter, ids)).toEqual(ids.map(() => Settled.Done));
      expect(await queued(filter)).toEqual({ waiting: 5, leased: 0 });
      expect(await release(filter, ids)).toEqual(ids.map(() => Settled.Expired));
      const again = await lease(filter, 10);
      expect(again.map(({ attempt }) => attempt)).toEqual([2, 2, 2, 2, 2]);
      expect(await ack(filter, ids)).toEqual(ids.map(() => Settled.Expired));
      expect(await ack(filter, idsOf(again))).toEqual(again.map(() => Settled.Done));
    });

    it('release makes only the named entries available, and answers id by id', async () => {
      const filter = await visitedSet();
      await discover(subject.store, filter, items(12));
      const leased = await lease(filter, 12);
      const [named, others] = [leased.filter((_, i) => i % 3 === 1), leased.filter((_, i) => i % 3 !== 1)];
      const [first, second, third, fourth] = idsOf(named) as [string, string, string, string];
      expect(await release(filter, [fourth, 'unknown', second, first, second])).toEqual([
        ...[Settled.Done, Settled.Unknown, Settled.Done, Settled.Done, Settled.Expired],
      ]);
      expect(await release(filter, [third])).toEqual([Settled.Done]);
      expect(await queued(filter)).toEqual({ waiting: 4, leased: 8 });
      const payloadsOf = (entries: readonly { payload: string }[]) => entries.map(({ payload }) => payload);
      expect(payloadsOf(await lease(filter, 12)).sort()).toEqual(payloadsOf(named).sort());
      expect(await ack(filter, idsOf(others))).toEqual(others.map(() => Settled.Done));
    });

    it('release queues entries after the waiting entries, in their order', async () => {
      const filter = await whole();
      await discover(subject.store, filter, items(6));
      const leased = await lease(filter, 4);
      for (const { id } of [leased[0]!, leased[2]!])
        expect(await release(filter, [id])).toEqual([Settled.Done]);
      await discover(subject.store, filter, ['later']);
      const order: string[] = [];
      for (let turn = 0; turn < 6; turn++)
        order.push(...(await lease(filter, 1)).map(({ payload }) => payload));
      expect(order).toEqual(['item 4', 'item 5', 'item 0', 'item 2', 'later']);
    });
  });

  describe('forgetting', () => {
    it('removes the entry from the queue, leased or not, and it counts until the queue reaches it', async () => {
      const filter = await visitedSet();
      await discover(subject.store, filter, items(20));
      const leased = await lease(filter, 10);
      expect(leased).toHaveLength(10);
      expect(await remove(subject.store, filter, items(20))).toEqual(items(20).map(() => 1));
      const { queue } = await subject.store.describe(filter);
      expect(queue).toMatchObject({ waiting: 10, leased: 10, delayed: 0, dead: 0, forgotten: 20 });
      // While its slot moves, a segment keeps the marks of forgotten entries.
      await subject.harness.still(async () => {
        expect(await ack(filter, idsOf(leased))).toEqual(leased.map(() => Settled.Unknown));
        expect(await lease(filter, 10)).toEqual([]);
        expect((await subject.store.describe(filter)).queue).toEqual(EMPTY);
      });
    });

    it('and discovering again makes a new entry that an old lease can’t settle', async () => {
      const filter = await visitedSet();
      await discover(subject.store, filter, ['a']);
      const [old] = await lease(filter, 1);
      await remove(subject.store, filter, ['a']);
      expect(await discover(subject.store, filter, ['a'])).toEqual([1]);
      expect(await ack(filter, [old!.id])).not.toEqual([Settled.Done]);
      const [fresh] = await lease(filter, 1);
      expect(fresh).toMatchObject({ payload: 'a', attempt: 1 });
      expect(await ack(filter, [old!.id])).not.toEqual([Settled.Done]);
      expect(await release(filter, [old!.id])).not.toEqual([Settled.Done]);
      expect(await lease(filter, 1)).toEqual([]);
      expect(await ack(filter, [fresh!.id])).toEqual([Settled.Done]);
    });

    it('clear empties the queue', async () => {
      const filter = await visitedSet();
      await discover(subject.store, filter, items(10));
      const ids = idsOf(await lease(filter, 5));
      const cleared = await subject.store.clear(filter.name, filter.kind, made());
      expect(await queued(cleared)).toEqual({ waiting: 0, leased: 0 });
      expect(await lease(cleared, 10)).toEqual([]);
      expect(await ack(cleared, ids)).toEqual(ids.map(() => Settled.Unknown));
    });
  });
}
