import { describe, expect, it } from '@jest/globals';
import { Added, MAX_SCHEDULE_MS, Settled, type Filter, type LeasedEntry } from '#store';
import { SWEEP_AFTER_MS } from '../../libs/store/src/sweeping.js';
import { clock } from '../support/clock.js';
import { until } from '../support/until.js';
import { check, discover, items, keyed, made, makeFilter, SEGMENTED, type FilterOptions } from './calls.js';
import { HELD_MS, HostCalls, urls } from './host-calls.js';
import { OVER_MS, payloads } from './queue-calls.js';
import type { Subject } from './subject.js';

const DAY_MS = 86_400_000;
const NONE = { waiting: 0, leased: 0, delayed: 0, scheduled: 0, dead: 0, forgotten: 0 };

/** Entries that are scheduled for a later time. */
export function queueScheduleContract(subject: Subject): void {
  const calls = new HostCalls(subject);
  const make = (options: FilterOptions = {}): Promise<Filter> =>
    makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-9, ...options });

  describe('a discovery with a delay', () => {
    it.each([600_000, 30 * DAY_MS, MAX_SCHEDULE_MS])(
      'is new at once, and is leased for the first time after %i ms',
      async (delayMs) => {
        let filter = await make({ segmentation: SEGMENTED });
        expect(await calls.discover(filter, items(30), { delayMs, priority: 'high' })).toEqual(
          items(30).map(() => Added.New),
        );
        expect(await check(subject.store, filter, items(30))).toEqual(items(30).map(() => 1));
        expect(await calls.discover(filter, items(30))).toEqual(items(30).map(() => Added.Present));
        expect(await calls.queueOf(filter)).toEqual({ ...NONE, scheduled: 30 });
        filter = await calls.reopened(filter);
        expect(await calls.lease(filter, 100)).toEqual([]);
        expect(await calls.queueOf(filter)).toEqual({ ...NONE, scheduled: 30 });
        const moved = clock.aheadMs;
        clock.advance(delayMs + 3_000);
        expect(await calls.queueOf(filter)).toEqual({
          ...NONE,
          waiting: 30,
          oldestSeconds: expect.any(Number),
        });
        const found = await calls.lease(filter, 100);
        expect(payloads(found).sort()).toEqual(items(30).sort());
        expect(found.every(({ attempt }) => attempt === 1)).toBe(true);
        expect(await calls.queueOf(filter)).toEqual({ ...NONE, leased: 30 });
        clock.advance(moved - clock.aheadMs);
      },
    );

    it('queues immediately if the delay is 0', async () => {
      const filter = await make();
      await calls.discover(filter, ['a'], { delayMs: 0 });
      expect(await calls.queueOf(filter)).toMatchObject({ ...NONE, waiting: 1 });
    });

    it('counts as discovered when it comes due', async () => {
      const filter = await make();
      await calls.discover(filter, ['a'], { delayMs: 100_000 });
      clock.advance(107_000);
      await calls.release(filter, await calls.lease(filter, 1));
      const { oldestSeconds } = await calls.queueOf(filter);
      expect(oldestSeconds).toBeGreaterThanOrEqual(6);
      expect(oldestSeconds).toBeLessThan(100);
    });

    it('can be as large as a batch', async () => {
      const filter = await make({ capacity: 5_000 });
      await calls.discover(filter, items(3_000, 'https://example.org/some/longer/path'), { delayMs: 1 });
      clock.advance(OVER_MS);
      const found = new Set<string>();
      for (let turn = 0; turn < 40 && found.size < 3_000; turn++)
        for (const payload of payloads(await calls.lease(filter, 1_000))) found.add(payload);
      expect(found.size).toBe(3_000);
    });

    it.each([-1, MAX_SCHEDULE_MS + 1, Number.NaN])('refuses %d ms', async (delayMs) => {
      const filter = await make();
      await expect(calls.discover(filter, ['a'], { delayMs })).rejects.toThrow(RangeError);
      expect(await check(subject.store, filter, ['a'])).toEqual([0]);
    });

    it('must be shorter than the age of a set that ages', async () => {
      const filter = await make({ maxAgeSeconds: 1_000, growsTo: Infinity });
      await expect(calls.discover(filter, ['a'], { delayMs: 1_000_000 })).rejects.toThrow(TypeError);
      expect(await check(subject.store, filter, ['a'])).toEqual([0]);
      expect(await calls.discover(filter, ['a'], { delayMs: 999_000 })).toEqual([Added.New]);
      expect(await calls.queueOf(filter)).toEqual({ ...NONE, scheduled: 1 });
    });
  });

  describe('an acknowledged entry that comes back', () => {
    it('comes back at its time, again and again, as if never leased', async () => {
      let filter = await make({ maxAttempts: 2 });
      await calls.discover(filter, ['a']);
      await calls.discover(filter, ['other']);
      await calls.release(filter, (await calls.lease(filter, 2)).slice(0, 1));
      for (let round = 0; round < 4; round++) {
        const [leased] = await calls.lease(filter, 1);
        expect(leased).toMatchObject({ payload: 'a', attempt: round === 0 ? 2 : 1 });
        expect(await calls.ack(filter, [leased!], 3 * DAY_MS)).toEqual([Settled.Done]);
        expect(await calls.ack(filter, [leased!])).toEqual([Settled.Expired]);
        expect(await calls.queueOf(filter)).toMatchObject({ waiting: 0, delayed: 0, scheduled: 1 });
        expect(await check(subject.store, filter, ['a'])).toEqual([1]);
        filter = await calls.reopened(filter);
        clock.advance(2 * DAY_MS);
        const others = await calls.lease(filter, 10, HELD_MS);
        expect(payloads(others).filter((payload) => payload === 'a')).toEqual([]);
        await calls.ack(filter, others);
        clock.advance(DAY_MS);
      }
    });

    it('doesn’t come back when it is acknowledged without a time', async () => {
      const filter = await make();
      await calls.discover(filter, ['a', 'b']);
      const [a, b] = await calls.lease(filter, 2);
      expect(await calls.ack(filter, [a!], 1)).toEqual([Settled.Done]);
      expect(await calls.ack(filter, [b!])).toEqual([Settled.Done]);
      clock.advance(OVER_MS);
      const again = await calls.lease(filter, 2);
      expect(payloads(again)).toEqual(['a']);
      await calls.ack(filter, again);
      clock.advance(DAY_MS);
      expect(await calls.queueOf(filter)).toEqual(NONE);
    });

    it('has one entry after the acknowledgement is repeated', async () => {
      const filter = await make();
      await calls.discover(filter, items(3));
      const ids = [...(await calls.lease(filter, 2)).map(({ id }) => id), 'nonsense'];
      const operation = keyed();
      for (let turn = 0; turn < 3; turn++) {
        const answers = await subject.store.queue.ack(filter, ids, operation, DAY_MS);
        expect([...answers]).toEqual([Settled.Done, Settled.Done, Settled.Unknown]);
        expect(await calls.queueOf(filter)).toMatchObject({ waiting: 1, scheduled: 2 });
      }
      clock.advance(DAY_MS);
      expect(payloads(await calls.lease(filter, 10)).sort()).toEqual(items(3));
    });

    it.each([0, -1, MAX_SCHEDULE_MS + 1, Number.NaN])('can’t come back after %d ms', async (ms) => {
      const filter = await make();
      await calls.discover(filter, ['a']);
      const leased = await calls.lease(filter, 1);
      await expect(calls.ack(filter, leased, ms)).rejects.toThrow(RangeError);
      expect(await calls.ack(filter, leased)).toEqual([Settled.Done]);
    });

    it('can’t come back in a set that ages', async () => {
      const filter = await make({ maxAgeSeconds: 1_000, growsTo: Infinity });
      await calls.discover(filter, ['a']);
      const leased = await calls.lease(filter, 1);
      await expect(calls.ack(filter, leased, 1_000)).rejects.toThrow(TypeError);
      expect(await calls.ack(filter, leased)).toEqual([Settled.Done]);
    });
  });

  describe('a scheduled entry', () => {
    const SOURCES: readonly (readonly [string, (filter: Filter, keys: string[]) => Promise<unknown>])[] = [
      ['that was discovered', (filter, keys) => calls.discover(filter, keys, { delayMs: 5 * DAY_MS })],
      [
        'that was acknowledged',
        async (filter, keys) => {
          await calls.discover(filter, keys);
          await calls.ack(filter, await calls.lease(filter, 100), 5 * DAY_MS);
        },
      ],
    ];

    it.each(SOURCES)('%s doesn’t come back if its item is forgotten', async (_, schedule) => {
      const filter = await make();
      await schedule(filter, items(10));
      await calls.forget(filter, items(10).slice(1));
      expect(await calls.queueOf(filter)).toMatchObject({ scheduled: 10, forgotten: 9 });
      expect(await calls.discover(filter, items(3))).toEqual([0, 1, 1]);
      clock.advance(5 * DAY_MS);
      expect(payloads(await calls.lease(filter, 100)).sort()).toEqual(items(3));
      expect(await calls.queueOf(filter)).toMatchObject({ waiting: 0, leased: 3, scheduled: 0 });
    });

    it.each(SOURCES)('%s is swept if its item is forgotten', async (_, schedule) => {
      const filter = await make();
      await schedule(filter, items(40));
      await calls.forget(filter, items(40).slice(2));
      clock.advance(SWEEP_AFTER_MS);
      await until('only live entries count', async () => {
        const { scheduled, forgotten } = await calls.queueOf(filter);
        return scheduled === 2 && forgotten === 0;
      });
      clock.advance(5 * DAY_MS);
      expect(payloads(await calls.lease(filter, 100)).sort()).toEqual(items(2));
    });

    it.each(SOURCES)('%s is removed with the set’s contents', async (_, schedule) => {
      const filter = await make();
      await schedule(filter, items(10));
      const cleared = await subject.store.clear(filter.name, filter.kind, made());
      expect(await calls.queueOf(cleared)).toEqual(NONE);
      clock.advance(5 * DAY_MS);
      expect(await calls.lease(cleared, 10)).toEqual([]);
    });

    it('waits until its time even if that is more than a day ahead, and longer if the clock is set back', async () => {
      const filter = await make();
      await calls.discover(filter, ['scheduled', 'released']);
      const leased = await calls.lease(filter, 2);
      const of = (payload: string) => leased.filter((entry) => entry.payload === payload);
      await calls.ack(filter, of('scheduled'), 2 * DAY_MS);
      await calls.release(filter, of('released'), { delayMs: DAY_MS });
      // If a slot moves, a call may be repeated. A repeat from before the records began is refused.
      await subject.harness.still(async () => {
        clock.advance(-DAY_MS);
        // A delay that is so far ahead must come from a clock that was set back.
        expect(payloads(await calls.lease(filter, 2))).toEqual(['released']);
      });
      clock.advance(2 * DAY_MS);
      expect(payloads(await calls.lease(filter, 2, HELD_MS)).filter((one) => one === 'scheduled')).toEqual(
        [],
      );
      clock.advance(DAY_MS);
      expect(payloads(await calls.lease(filter, 2, HELD_MS))).toContain('scheduled');
    });

    it('wakes a watch at its time', async () => {
      const filter = await make();
      await calls.discover(filter, ['a']);
      await calls.ack(filter, await calls.lease(filter, 1), 2_000);
      await calls.discover(filter, ['b'], { delayMs: 90 * DAY_MS });
      let wake: () => void = () => undefined;
      const end = subject.store.queue.watch(filter, () => {
        wake();
      });
      let found: LeasedEntry[] = [];
      while (found.length === 0) {
        const woken = new Promise<void>((resolve) => (wake = resolve));
        found = await calls.lease(filter, 1);
        if (found.length === 0) await woken;
      }
      end();
      expect(payloads(found)).toEqual(['a']);
    });

    it('can be released, extended and made a dead letter once it is leased', async () => {
      const filter = await make({ maxAttempts: 1 });
      await calls.discover(filter, ['a'], { delayMs: 1 });
      clock.advance(OVER_MS);
      const leased = await calls.lease(filter, 1);
      expect(await calls.extend(filter, leased, HELD_MS)).toEqual([Settled.Done]);
      expect(await calls.release(filter, leased, { reason: 'HTTP 503' })).toEqual([Settled.Done]);
      expect(await calls.letters(filter)).toEqual([{ item: 'a', attempt: 1, reason: 'HTTP 503' }]);
    });
  });

  describe('a scheduled entry, in a per-host queue', () => {
    it('keeps its host’s lane, is counted there, and comes back at the host’s pace', async () => {
      let filter = await calls.make({ delayMs: 60_000, maxLeased: 1 });
      await discover(subject.store, filter, urls('a', 2), made(), { delayMs: 3 * DAY_MS });
      await calls.discover(filter, urls('b', 1));
      await calls.ack(filter, await calls.lease(filter, 5), 3 * DAY_MS);
      filter = await calls.reopened(filter);
      expect(await calls.queueOf(filter)).toEqual({ ...NONE, scheduled: 3 });
      const { hosts } = await subject.store.hosts.list(filter, 10);
      const counts = hosts.map(({ name, waiting, scheduled }) => [name, waiting, scheduled]);
      expect(counts.sort()).toEqual([
        ['a.example', 0, 2],
        ['b.example', 0, 1],
      ]);
      clock.advance(2 * DAY_MS);
      expect(await calls.take(filter)).toEqual([]);
      clock.advance(DAY_MS);
      expect((await calls.take(filter)).sort()).toEqual([...urls('a', 1), ...urls('b', 1)]);
      expect(await calls.queueOf(filter)).toMatchObject({ ...NONE, waiting: 1, leased: 2 });
    });

    it('is counted as waiting after a restart if it came due while its host had to wait', async () => {
      let filter = await calls.make({ delayMs: HELD_MS });
      await calls.discover(filter, urls('a', 1));
      await calls.lease(filter, 1, DAY_MS);
      await calls.discover(filter, urls('a', 2, 1), { delayMs: 1_000 });
      clock.advance(5_000);
      expect(await calls.lease(filter, 1)).toEqual([]);
      filter = await calls.reopened(filter);
      expect(await calls.queueOf(filter)).toEqual({
        ...NONE,
        waiting: 2,
        leased: 1,
        oldestSeconds: expect.any(Number),
      });
      await calls.forget(filter, urls('a', 3));
      clock.advance(SWEEP_AFTER_MS + 5_000);
      await until('they are swept', async () => (await calls.queueOf(filter)).waiting === 0);
      expect(await calls.queueOf(filter)).toMatchObject({ waiting: 0, scheduled: 0 });
    });

    it('counts towards maxUrls', async () => {
      const filter = await calls.make({ maxUrls: 2 });
      expect(await calls.discover(filter, urls('a', 3), { delayMs: DAY_MS })).toEqual([1, 1, Added.Limited]);
      await calls.forget(filter, urls('a', 1));
      expect(await calls.discover(filter, urls('a', 1, 5), { delayMs: DAY_MS })).toEqual([1]);
      clock.advance(DAY_MS);
      expect((await calls.take(filter)).sort()).toEqual([...urls('a', 1, 1), ...urls('a', 1, 5)]);
    });

    it('is dropped with its host’s entries', async () => {
      const filter = await calls.make({});
      await calls.discover(filter, [...urls('a', 4), ...urls('b', 2)], { delayMs: 9 * DAY_MS });
      await calls.discover(filter, urls('a', 2, 4), { priority: 'high' });
      await calls.discover(filter, urls('a', 2, 6), { priority: 'low' });
      const [leased] = await calls.lease(filter, 1, HELD_MS);
      expect(await subject.store.hosts.drop(filter, 'a.example', made())).toBe(8);
      expect(await subject.store.hosts.get(filter, 'a.example')).toBeUndefined();
      expect(await calls.queueOf(filter)).toMatchObject({ ...NONE, scheduled: 2 });
      expect(await calls.ack(filter, [leased!], DAY_MS)).toEqual([Settled.Unknown]);
      await calls.discover(filter, urls('a', 1, 9), { priority: 'low' });
      const [later] = await calls.lease(filter, 5);
      expect(later).toMatchObject({ payload: urls('a', 1, 9)[0] });
      await calls.ack(filter, [later!]);
      clock.advance(9 * DAY_MS);
      expect(await calls.take(filter)).toEqual(urls('b', 2));
    });
  });
}
