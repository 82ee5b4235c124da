import { describe, expect, it } from '@jest/globals';
import { LEASE_ENDED, RELEASED, Settled, type LeasedEntry } from '#store';
import { clock } from '../support/clock.js';
import { exportFile, importFile } from '../support/export-files.js';
import { discover, items, keyed, made, makeFilter, remove, SEGMENTED } from './calls.js';
import { LONG_MS, OVER_MS, payloads, QueueCalls } from './queue-calls.js';
import type { Subject } from './subject.js';

/** Leases that are extended, released with a delay, or repeated, and entries on their last attempt. */
export function queueLeasesContract(subject: Subject): void {
  const calls = new QueueCalls(subject);

  describe('extend', () => {
    it('moves the named leases’ ends later or earlier, and no others', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set', segmentation: SEGMENTED });
      await discover(subject.store, filter, items(40));
      const leased = [...(await calls.lease(filter, 20)), ...(await calls.lease(filter, 20))];
      expect(leased).toHaveLength(40);
      const some = leased.filter((_, i) => i % 3 === 1);
      expect(await calls.extend(filter, some, 1)).toEqual(some.map(() => Settled.Done));
      clock.advance(OVER_MS);
      expect(await calls.extend(filter, some, LONG_MS)).toEqual(some.map(() => Settled.Expired));
      const again = await calls.lease(filter, 100);
      expect(payloads(again).sort()).toEqual(payloads(some).sort());
      const others = leased.filter((_, i) => i % 3 !== 1);
      const later = others.slice(0, 5);
      expect(await calls.extend(filter, later, 2 * LONG_MS)).toEqual(later.map(() => Settled.Done));
      expect(await calls.lease(filter, 100)).toEqual([]);
      expect(await calls.ack(filter, others)).toEqual(others.map(() => Settled.Done));
      expect(await calls.extend(filter, later, LONG_MS)).toEqual(later.map(() => Settled.Expired));
      const none = [{ id: 'nonsense' }, { id: 'A'.repeat(28) }];
      expect(await calls.extend(filter, none, LONG_MS)).toEqual([Settled.Unknown, Settled.Unknown]);
    });

    it('keeps a lease that was about to end', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set' });
      await discover(subject.store, filter, items(3));
      const leased = await calls.lease(filter, 3, LONG_MS);
      expect(await calls.extend(filter, leased, 2 * LONG_MS)).toEqual([1, 1, 1]);
      clock.advance(1.5 * LONG_MS);
      expect(await calls.lease(filter, 3)).toEqual([]);
      expect(await calls.ack(filter, leased)).toEqual([1, 1, 1]);
    });
  });

  describe('a release with a delay', () => {
    it('hides entries until it ends, then queues them after the waiting entries', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set' });
      await discover(subject.store, filter, items(5));
      const [first, second, third] = await calls.lease(filter, 3);
      await calls.release(filter, [first!], { delayMs: LONG_MS });
      await calls.release(filter, [second!, third!], { delayMs: 1 });
      clock.advance(OVER_MS);
      await discover(subject.store, filter, ['later']);
      const expected = ['item 3', 'item 4', 'item 1', 'item 2', 'later'];
      const leased = await calls.lease(filter, 10);
      expect(payloads(leased)).toEqual(expected);
      expect(leased.map(({ attempt }) => attempt)).toEqual([1, 1, 2, 2, 1]);
      const { queue } = await subject.store.describe(filter);
      expect(queue).toMatchObject({ waiting: 0, leased: 5, delayed: 1, dead: 0 });
      expect(await calls.ack(filter, [first!])).toEqual([Settled.Expired]);
    });
  });

  const limited = (maxAttempts: number) =>
    makeFilter(subject.store, { kind: 'visited-set', segmentation: SEGMENTED, maxAttempts });

  describe('a release that counts no attempt', () => {
    it.each([
      ['at once', 0],
      ['after a delay', 1],
    ])(
      'returns entries %s as if they had not been leased, even on their last attempt',
      async (_, delayMs) => {
        const filter = await limited(2);
        await discover(subject.store, filter, items(40));
        await calls.release(filter, await calls.lease(filter, 40));
        for (let turn = 0; turn < 3; turn++) {
          const leased = await calls.lease(filter, 40);
          expect(leased.map(({ attempt }) => attempt)).toEqual(items(40).map(() => 2));
          const release = { countAttempt: false, reason: 'put off', delayMs };
          expect(await calls.release(filter, leased, release)).toEqual(items(40).map(() => Settled.Done));
          clock.advance(OVER_MS);
        }
        expect(await calls.letters(filter)).toEqual([]);
        const { queue } = await subject.store.describe(filter);
        expect(queue).toMatchObject({ leased: 0, dead: 0 });
        await calls.release(filter, await calls.lease(filter, 40), { reason: 'failed' });
        const letters = await calls.letters(filter);
        expect(letters).toHaveLength(40);
        expect(letters.every(({ attempt, reason }) => attempt === 2 && reason === 'failed')).toBe(true);
      },
    );

    it('doesn’t change the lease’s other entries', async () => {
      const filter = await limited(1);
      await discover(subject.store, filter, items(10));
      const leased = await calls.lease(filter, 10);
      const some = leased.filter((_, i) => i % 2 === 0);
      await calls.release(filter, some, { countAttempt: false });
      await calls.release(
        filter,
        leased.filter((_, i) => i % 2 === 1),
      );
      expect(await calls.letters(filter)).toHaveLength(5);
      const again = await calls.lease(filter, 10);
      expect(payloads(again).sort()).toEqual(payloads(some).sort());
      expect(again.every(({ attempt }) => attempt === 1)).toBe(true);
    });

    it('is exported with the counted attempts', async () => {
      const filter = await limited(3);
      await discover(subject.store, filter, items(4));
      await calls.release(filter, await calls.lease(filter, 4));
      await calls.release(filter, await calls.lease(filter, 4), { countAttempt: false });
      // An export that meets a moving slot may have entries twice.
      const file = await subject.harness.still(() => exportFile(subject.store, filter));
      const copy = await importFile(subject.store, file, made(), `${filter.name}.copy`);
      expect((await calls.lease(copy, 10)).map(({ attempt }) => attempt)).toEqual([2, 2, 2, 2]);
    });
  });

  describe('an entry that was leased as often as its set allows', () => {
    it('becomes a dead letter immediately when it comes back, with the reason', async () => {
      const filter = await limited(2);
      await discover(subject.store, filter, items(4));
      expect(await calls.release(filter, await calls.lease(filter, 4), { reason: 'first' })).toHaveLength(4);
      const leased = await calls.lease(filter, 4);
      const [a, b, c, d] = [0, 1, 2, 3].map((n) => leased.find(({ payload }) => payload === `item ${n}`)!);
      await calls.release(filter, [a!], { reason: 'HTTP 503, “später” \0', delayMs: LONG_MS });
      await calls.release(filter, [b!]);
      await calls.extend(filter, [c!], 1);
      clock.advance(OVER_MS);
      expect(await calls.lease(filter, 4)).toEqual([]);
      const letters = await calls.letters(filter);
      expect(letters.sort((x, y) => (x.item < y.item ? -1 : 1))).toEqual([
        { item: 'item 0', attempt: 2, reason: 'HTTP 503, “später” \0' },
        { item: 'item 1', attempt: 2, reason: RELEASED },
        { item: 'item 2', attempt: 2, reason: LEASE_ENDED },
      ]);
      expect(await calls.ack(filter, [d!])).toEqual([Settled.Done]);
      const { queue } = await subject.store.describe(filter);
      expect(queue).toEqual({ waiting: 0, leased: 0, delayed: 0, scheduled: 0, dead: 3, forgotten: 0 });
      // The item stays visited.
      expect(await discover(subject.store, filter, items(4))).toEqual([0, 0, 0, 0]);
    });

    it('is listed page by page, and put back or purged by id, after a restart too', async () => {
      const { name, kind } = await limited(1);
      let filter = await subject.store.open(name, kind);
      await discover(subject.store, filter, items(30));
      await calls.release(filter, await calls.lease(filter, 30));
      const listed = async (limit: number) => {
        const found: { id: string; payload: string }[] = [];
        let after: string | undefined;
        for (let page = 0; page < 40; page++) {
          const { entries, next } = await subject.store.queue.deadLetters(filter, limit, after);
          expect(entries.length).toBeLessThanOrEqual(limit);
          found.push(...entries);
          if (next === undefined) return found;
          after = next;
        }
        throw new Error('the pages have no end');
      };
      const all = await listed(7);
      expect(payloads(all).sort()).toEqual(items(30).sort());
      expect(await listed(1_000)).toEqual(all);
      await subject.reopen();
      filter = await subject.store.open(name, kind);
      expect(await listed(1_000)).toEqual(all);
      const [back, gone] = [all.slice(0, 10), all.slice(10, 15)];
      const ids = (of: readonly { id: string }[]) => of.map(({ id }) => id);
      const { queue } = subject.store;
      const strange = ['', 'nonsense', 'A'.repeat(28)];
      const operation = keyed();
      for (let turn = 0; turn < 2; turn++) {
        const answers = await queue.putBack(filter, [...ids(back), ids(back)[0]!, ...strange], operation);
        expect([...answers]).toEqual([...back.map(() => Settled.Done), 0, 0, 0, 0]);
        const purged = await queue.purge(filter, ids(gone), operation);
        expect([...purged]).toEqual(gone.map(() => Settled.Done));
      }
      expect([...(await queue.purge(filter, ids(back), made()))]).toEqual(back.map(() => Settled.Unknown));
      expect(await listed(1_000)).toEqual(all.slice(15));
      const again = await calls.lease(filter, 100);
      expect(payloads(again).sort()).toEqual(payloads(back).sort());
      expect(again.every(({ attempt }) => attempt === 1)).toBe(true);
      // A dead letter isn't a lease, and a lease isn't a dead letter.
      expect(await calls.ack(filter, all.slice(15))).toEqual(all.slice(15).map(() => Settled.Unknown));
      const leases = [...(await queue.putBack(filter, ids(again), made()))];
      expect(leases).toEqual(again.map(() => Settled.Unknown));
    });

    it('that is forgotten is in no list, and can’t be put back or purged', async () => {
      const filter = await limited(1);
      await discover(subject.store, filter, items(10));
      await calls.release(filter, await calls.lease(filter, 10));
      const { entries } = await subject.store.queue.deadLetters(filter, 100);
      await remove(subject.store, filter, items(10).slice(2));
      expect((await calls.letters(filter)).map(({ item }) => item).sort()).toEqual(['item 0', 'item 1']);
      const gone = entries.filter(({ payload }) => !['item 0', 'item 1'].includes(payload));
      const ids = gone.map(({ id }) => id);
      const { queue } = subject.store;
      expect([...(await queue.putBack(filter, ids.slice(0, 4), made()))]).toEqual([0, 0, 0, 0]);
      expect([...(await queue.purge(filter, ids.slice(4), made()))]).toEqual([0, 0, 0, 0]);
      expect(await calls.lease(filter, 10)).toEqual([]);
    });

    it('a set with a different limit is a different set', async () => {
      const spec = await limited(3);
      await expect(subject.store.create({ ...spec, maxAttempts: 4 }, made())).rejects.toMatchObject({
        code: 'FILTER_EXISTS',
      });
      const { maxAttempts: _, ...unlimited } = spec;
      await expect(subject.store.create(unlimited, made())).rejects.toMatchObject({ code: 'FILTER_EXISTS' });
      expect(await subject.store.create(spec, made())).toMatchObject({
        created: false,
        filter: { maxAttempts: 3 },
      });
    });
  });

  it('one call settles ids of several leases in any order, each once', async () => {
    const filter = await makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-9 });
    await discover(subject.store, filter, items(300));
    const leases = [await calls.lease(filter, 150), await calls.lease(filter, 150)];
    const all = leases[0]!.flatMap((entry, i) => [leases[1]![149 - i]!, entry]);
    const [acked, released] = [0, 1].map((part) => all.filter((_, i) => i % 3 < 2 === (part === 0)));
    expect(await calls.ack(filter, [...acked!, acked![0]!])).toEqual([
      ...acked!.map(() => Settled.Done),
      Settled.Expired,
    ]);
    expect(await calls.release(filter, released!)).toEqual(released!.map(() => Settled.Done));
    expect(new Set(payloads(await calls.lease(filter, 300)))).toEqual(new Set(payloads(released!)));
  });

  describe('a lease that is repeated', () => {
    it('returns the entries that it still holds, without settled, ended or forgotten ones', async () => {
      const { name, kind } = await makeFilter(subject.store, {
        ...{ kind: 'visited-set', segmentation: SEGMENTED, errorRate: 1e-9 },
      });
      let filter = await subject.store.open(name, kind);
      await discover(subject.store, filter, items(40));
      const operation = keyed();
      const repeat = () => subject.store.queue.lease(filter, 20, LONG_MS, operation);
      const first = await repeat();
      expect(first).toHaveLength(20);
      expect(await repeat()).toEqual(first);
      await calls.ack(filter, first.slice(0, 4));
      await calls.release(filter, first.slice(4, 8));
      await calls.extend(filter, first.slice(8, 12), 1);
      clock.advance(OVER_MS);
      await remove(subject.store, filter, payloads(first.slice(12, 16)));
      expect(await repeat()).toEqual(first.slice(16));
      await subject.reopen();
      filter = await subject.store.open(name, kind);
      expect(await repeat()).toEqual(first.slice(16));
      await calls.ack(filter, first.slice(16));
      expect(await repeat()).toEqual([]);
      expect(await calls.lease(filter, 100)).toHaveLength(28);
    });

    it('returns no more than requested, even if attempts overlapped', async () => {
      const filter = await makeFilter(subject.store, {
        ...{ kind: 'visited-set', segmentation: SEGMENTED, errorRate: 1e-9 },
      });
      const operation = keyed();
      const lease = (repeat: boolean) =>
        subject.store.queue.lease(filter, 2, LONG_MS, { ...operation, repeat });
      // The last attempt doesn't know the others, as if it had looked before they found anything.
      let last: LeasedEntry[] = [];
      for (let n = 0; n < 20; n++) {
        await discover(subject.store, filter, [`url ${n}`, `another ${n}`]);
        last = await lease(false);
        expect(last.length).toBeLessThanOrEqual(2);
      }
      expect(await lease(true)).toEqual(last);
      expect(last).toHaveLength(2);
    });

    it('returns the same entry, although other segments have entries by then', async () => {
      for (let n = 0; n < 8; n++) {
        const filter = await makeFilter(subject.store, { kind: 'visited-set', segmentation: SEGMENTED });
        await discover(subject.store, filter, items(1));
        const operation = keyed();
        const first = await subject.store.queue.lease(filter, 1, LONG_MS, operation);
        expect(first).toHaveLength(1);
        await discover(subject.store, filter, items(40));
        expect(await subject.store.queue.lease(filter, 1, LONG_MS, operation)).toEqual(first);
      }
    });

    it('that found nothing isn’t recorded, and may find something when repeated', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set', segmentation: SEGMENTED });
      const operation = keyed();
      expect(await subject.store.queue.lease(filter, 5, LONG_MS, operation)).toEqual([]);
      await discover(subject.store, filter, items(5));
      const leased = await subject.store.queue.lease(filter, 5, LONG_MS, operation);
      expect(leased).toHaveLength(5);
      expect(await subject.store.queue.lease(filter, 5, LONG_MS, operation)).toEqual(leased);
    });
  });
}
