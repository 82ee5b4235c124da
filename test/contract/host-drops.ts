import { describe, expect, it } from '@jest/globals';
import { Settled, type Filter, type LeasedEntry } from '#store';
import { SWEEP_AFTER_MS } from '../../libs/store/src/sweeping.js';
import { clock } from '../support/clock.js';
import { until } from '../support/until.js';
import { check, discover, made, tally } from './calls.js';
import { DELAY_MS, HELD_MS, HostCalls, ofHost, urls } from './host-calls.js';
import { LONG_MS, payloads } from './queue-calls.js';
import type { Subject } from './subject.js';
import { brokenCopy, SyncCalls } from './sync-calls.js';

const DAY_MS = 86_400_000;
/** A lease that ends before one of HELD_MS, but not during a test unless the clock moves. */
const SHORTER_MS = HELD_MS / 2;

/** The dropped host's entries in each state: enough that copying them takes a while. */
const QUEUED = 600;

/** Dropping hosts during syncs, and the effect on the queue's counts and on maxLeased. See also host-settings.ts. */
export function hostDropsContract(subject: Subject): void {
  const calls = new HostCalls(subject);
  const syncs = new SyncCalls(subject);

  describe('the URLs of a dropped host', () => {
    it('stay visited if a sync has not copied their entries yet', async () => {
      const filter = await calls.make({}, { maxAttempts: 1 });
      const dropped = urls('a', 4 * QUEUED);
      const step = (n: number) => dropped.slice(n * QUEUED, (n + 1) * QUEUED);
      await discover(subject.store, filter, step(0));
      await calls.release(filter, await calls.lease(filter, QUEUED));
      await discover(subject.store, filter, step(1));
      const delayed = await calls.lease(filter, QUEUED);
      await calls.release(filter, delayed, { delayMs: HELD_MS, countAttempt: false });
      await discover(subject.store, filter, step(2));
      const leased = await calls.lease(filter, QUEUED, HELD_MS);
      const scheduled = urls('a', 5, 4 * QUEUED);
      await discover(subject.store, filter, scheduled, made(), { delayMs: DAY_MS });
      await discover(subject.store, filter, [...step(3), ...urls('b', QUEUED)]);
      const sync = await brokenCopy(subject, filter);
      const now = await syncs.current(filter);
      // If a slot moves, the copy starts its lanes over.
      const drop = () => subject.store.hosts.drop(now, 'a.example', made());
      expect(await subject.harness.still(drop)).toBe(4 * QUEUED + 5);
      expect(await calls.ack(now, leased.slice(0, 1))).toEqual([0]);
      await syncs.commit(filter, sync);
      const after = await syncs.current(filter);
      expect(tally(await check(subject.store, after, [...dropped, ...urls('b', QUEUED)]), 0)).toBe(0);
      // No sync keeps scheduled entries.
      expect(tally(await check(subject.store, after, scheduled), 1)).toBe(0);
      clock.advance(2 * DAY_MS);
      expect((await calls.take(after, 1_000)).sort()).toEqual(urls('b', QUEUED).sort());
      expect(await calls.take(after)).toEqual([]);
    });
  });

  describe('the entries of a dropped host', () => {
    it('leave the queue’s counts, even if they are due', async () => {
      const filter = await calls.make({});
      const later = { delayMs: LONG_MS };
      await discover(subject.store, filter, [...urls('a', 4), ...urls('b', 4)]);
      const taken = await calls.lease(filter, 8, LONG_MS);
      await calls.release(filter, [...ofHost(taken, 'a').slice(2), ...ofHost(taken, 'b').slice(2, 3)], later);
      await calls.release(filter, ofHost(taken, 'b').slice(3), { delayMs: HELD_MS });
      await calls.extend(
        filter,
        [...ofHost(taken, 'a').slice(1, 2), ...ofHost(taken, 'b').slice(1, 2)],
        HELD_MS,
      );
      await discover(subject.store, filter, [...urls('a', 3, 4), ...urls('b', 1, 4)], made(), later);
      await discover(subject.store, filter, urls('b', 1, 5), made(), { delayMs: HELD_MS });
      clock.advance(LONG_MS);
      const b = { waiting: 3, leased: 1, delayed: 1, scheduled: 1, dead: 0 };
      expect(await calls.queueOf(filter)).toMatchObject({ ...b, waiting: 9, leased: 2 });
      expect(await subject.store.hosts.drop(filter, 'a.example', made())).toBe(7);
      expect(await calls.queueOf(filter)).toMatchObject(b);
      expect((await calls.take(filter)).sort()).toEqual([
        ...urls('b', 1),
        ...urls('b', 1, 2),
        ...urls('b', 1, 4),
      ]);
    });
  });

  describe('the leased entries of a dropped host', () => {
    const drop = (filter: Filter) => subject.store.hosts.drop(filter, 'a.example', made());
    const view = (filter: Filter) => subject.store.hosts.get(filter, 'a.example');
    const ack = async (filter: Filter, some: readonly LeasedEntry[]) =>
      expect(await calls.ack(filter, some)).toEqual(some.map(() => Settled.Unknown));

    const ends: readonly (readonly [
      string,
      (filter: Filter, some: readonly LeasedEntry[]) => Promise<unknown>,
    ])[] = [
      ['a worker acknowledges them', ack],
      ['their leases end', async () => clock.advance(SHORTER_MS)],
      [
        'a sweep removes them',
        (filter) =>
          until('the queue is swept', async () => {
            clock.advance(SWEEP_AFTER_MS);
            await calls.queueOf(filter);
            return (await view(filter))?.nextAt !== undefined;
          }),
      ],
    ];

    it.each(ends)('count towards maxLeased until %s, also after a restart', async (_, end) => {
      let filter = await calls.make({ maxLeased: 2 });
      await discover(subject.store, filter, urls('a', 5));
      const taken = await calls.lease(filter, 10, SHORTER_MS);
      expect(await drop(filter)).toBe(5);
      expect(await view(filter)).toBeUndefined();
      await discover(subject.store, filter, urls('a', 3, 5));
      expect(await view(filter)).toMatchObject({ waiting: 3, leased: 0 });
      filter = await calls.reopened(filter);
      expect(await calls.take(filter)).toEqual([]);
      expect((await view(filter))!.nextAt).toBeUndefined();
      await end(filter, taken);
      expect(await calls.take(filter)).toEqual(urls('a', 2, 5));
      expect(await calls.take(filter)).toEqual([]);
      expect(await view(filter)).toMatchObject({ waiting: 1, leased: 2 });
    });

    it('each make room for one entry under maxLeased, after several drops', async () => {
      const filter = await calls.make({ maxLeased: 2 });
      await discover(subject.store, filter, urls('a', 1));
      const taken = await calls.lease(filter, 1, HELD_MS);
      expect(await drop(filter)).toBe(1);
      await discover(subject.store, filter, urls('a', 1, 1));
      taken.push(...(await calls.lease(filter, 10, HELD_MS)));
      expect(await drop(filter)).toBe(1);
      expect(await drop(filter)).toBe(0);
      await discover(subject.store, filter, urls('a', 3, 2));
      expect(await calls.take(filter)).toEqual([]);
      for (const n of [0, 1]) {
        await ack(filter, taken.slice(n, n + 1));
        expect(await calls.take(filter)).toEqual(urls('a', 1, 2 + n));
      }
      expect(await calls.take(filter)).toEqual([]);
      expect(await calls.queueOf(filter)).toMatchObject({ waiting: 1, leased: 2 });
    });

    it('delay their host from the end of the lease, if maxLeased is 1', async () => {
      const filter = await calls.make({ maxLeased: 1 });
      await discover(subject.store, filter, urls('a', 1));
      const taken = await calls.lease(filter, 1, HELD_MS);
      // The delay applies from the end of the lease. No time may pass before, or a sweep would remove the entry.
      await subject.store.hosts.set(filter, 'a.example', { own: { delayMs: DELAY_MS } }, made());
      await drop(filter);
      await discover(subject.store, filter, urls('a', 1, 1));
      await ack(filter, taken);
      expect(await calls.take(filter)).toEqual([]);
      clock.advance(DELAY_MS);
      expect(await calls.take(filter)).toEqual(urls('a', 1, 1));
    });
  });

  describe.each(calls.voids)('a leased URL that was %s', (_, makeVoid) => {
    /** Leases the URLs of two hosts together, voids the first, and discovers another one of its host. */
    const leased = async (filter: Filter) => {
      const [host, other] = calls.sharing(2) as [string, string];
      await discover(subject.store, filter, [...urls(host, 1), ...urls(other, 1)]);
      const taken = await calls.lease(filter, 2, SHORTER_MS);
      expect(payloads(taken)).toEqual([...urls(host, 1), ...urls(other, 1)]);
      await makeVoid(filter, taken[0]!.payload);
      await discover(subject.store, filter, urls(host, 1, 1));
      return { taken, next: urls(host, 1, 1) };
    };

    it('counts towards maxLeased until its lease ends, also when a worker extends it', async () => {
      const filter = await calls.make({ maxLeased: 1 });
      const { taken, next } = await leased(filter);
      for (let n = 0; n < 2; n++) {
        expect(await calls.extend(filter, taken, HELD_MS)).toEqual([Settled.Unknown, Settled.Done]);
        expect(await calls.take(filter)).toEqual([]);
      }
      clock.advance(SHORTER_MS);
      expect(await calls.take(filter)).toEqual(next);
    });

    it('delays its host when a worker extends it and then releases it', async () => {
      const filter = await calls.make({ maxLeased: 1 });
      const { taken, next } = await leased(filter);
      await calls.extend(filter, taken, HELD_MS);
      const release = await calls.release(filter, taken.slice(0, 1), { hostDelayMs: DELAY_MS });
      expect(release).toEqual([Settled.Unknown]);
      expect(await calls.take(filter)).toEqual([]);
      clock.advance(DELAY_MS);
      expect(await calls.take(filter)).toEqual(next);
    });
  });
}
