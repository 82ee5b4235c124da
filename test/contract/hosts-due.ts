import { describe, expect, it } from '@jest/globals';
import { ENTRY_STATES, type EntryState, type Filter, type HostView } from '#store';
import { clock } from '../support/clock.js';
import { discover, made } from './calls.js';
import { DELAY_MS, HELD_MS, HostCalls, ofHost, urls } from './host-calls.js';
import { LONG_MS } from './queue-calls.js';
import type { Subject } from './subject.js';

const NONE = { waiting: 0, leased: 0, delayed: 0, scheduled: 0, dead: 0 };
/** A lease that doesn't end during a test unless the clock moves. */
const SHORTER_MS = HELD_MS / 2;
const nameOf = (host: string): string => `${host}.example`;

/** Hosts with entries whose leases, delays and schedules have ended, although no worker has leased since. */
export function hostsDueContract(subject: Subject): void {
  const calls = new HostCalls(subject);
  const get = (filter: Filter, host: string): Promise<HostView | undefined> =>
    subject.store.hosts.get(filter, nameOf(host));
  const drop = (filter: Filter, host: string): Promise<number> =>
    subject.store.hosts.drop(filter, nameOf(host), made());
  /** All hosts, page by page. */
  const list = (filter: Filter, limit: number): Promise<Map<string, HostView>> =>
    subject.harness.still(async () => {
      const found = new Map<string, HostView>();
      for (let after: string | undefined, more = true; more;) {
        const { hosts, next } = await subject.store.hosts.list(filter, limit, after);
        for (const view of hosts) found.set(view.name, view);
        after = next;
        more = next !== undefined;
      }
      return found;
    });
  const countsIn = ({ waiting, leased, delayed, scheduled, dead }: Record<EntryState, number>) => ({
    ...{ waiting, leased, delayed, scheduled, dead },
  });
  const idsOf = async (filter: Filter): Promise<string[]> => {
    const { entries } = await subject.store.queue.entries(filter, {}, 1_000);
    return entries.map(({ id }) => id).sort();
  };

  /** Some entries in each state become due. */
  const fill = async (filter: Filter): Promise<Record<string, Record<EntryState, number>>> => {
    await discover(subject.store, filter, [...urls('leased', 4), ...urls('delayed', 4)]);
    const taken = await calls.lease(filter, 8, LONG_MS);
    await calls.extend(filter, ofHost(taken, 'leased').slice(0, 1), HELD_MS);
    await calls.extend(filter, ofHost(taken, 'leased').slice(1, 2), 2 * LONG_MS);
    const [first, ...others] = ofHost(taken, 'delayed');
    await calls.release(filter, [first!], { delayMs: HELD_MS, countAttempt: false });
    await calls.release(filter, others.slice(0, 2), { delayMs: LONG_MS, countAttempt: false });
    await calls.release(filter, others.slice(2), { delayMs: 2 * LONG_MS, countAttempt: false });
    await discover(subject.store, filter, urls('scheduled', 2), made(), { delayMs: 2 * LONG_MS });
    await discover(subject.store, filter, urls('scheduled', 1, 2), made(), { delayMs: HELD_MS });
    await discover(subject.store, filter, urls('waiting', 1));
    clock.advance(2 * LONG_MS);
    return {
      leased: { ...NONE, waiting: 3, leased: 1 },
      delayed: { ...NONE, waiting: 3, delayed: 1 },
      scheduled: { ...NONE, waiting: 2, scheduled: 1 },
      waiting: { ...NONE, waiting: 1 },
    };
  };

  describe('the due entries of hosts', () => {
    it.each([{}, { maxAttempts: 1 }])('count as waiting, as in the description: %j', async (more) => {
      const filter = await calls.make({}, more);
      const expected = await fill(filter);
      const ids = await idsOf(filter);
      const { queue } = await subject.store.describe(filter);
      for (const limit of [1, 1_000]) {
        const views = await list(filter, limit);
        expect(views.size).toBe(Object.keys(expected).length);
        for (const [host, counts] of Object.entries(expected)) {
          const view = views.get(nameOf(host))!;
          expect({ host, ...countsIn(view) }).toEqual({ host, ...counts });
          expect(view.nextAt).toBeLessThanOrEqual(clock.now());
        }
        for (const state of ENTRY_STATES) {
          const sum = [...views.values()].reduce((total, view) => total + view[state], 0);
          expect([state, sum]).toEqual([state, queue![state]]);
        }
      }
      for (const [host, counts] of Object.entries(expected)) {
        const view = await get(filter, host);
        expect({ host, ...countsIn(view!) }).toEqual({ host, ...counts });
      }
      // No entry has moved, and the counts fit once all have.
      expect(await idsOf(filter)).toEqual(ids);
      for (const [host, counts] of Object.entries(expected)) {
        const isExhausted = filter.maxAttempts !== undefined && host === 'leased';
        const moved = isExhausted ? { ...counts, waiting: 0, dead: counts.waiting } : counts;
        const view = await subject.store.hosts.set(filter, nameOf(host), {}, made());
        expect({ host, ...countsIn(view) }).toEqual({ host, ...moved });
        if (!isExhausted) expect(view.nextAt).toBeLessThanOrEqual(clock.now());
      }
      if (filter.maxAttempts === undefined) {
        // A lease that finds entries may not have moved all that are due.
        for (let taken = 0; taken < 9;) taken += (await calls.take(filter)).length;
        for (const host of Object.keys(expected)) {
          const { waiting, leased, ...rest } = expected[host]!;
          const now = { waiting: 0, leased: leased + waiting, ...rest };
          expect({ host, ...countsIn((await get(filter, host))!) }).toEqual({ host, ...now });
        }
      }
    });

    it('no longer count towards maxLeased, and give the host its time', async () => {
      const filter = await calls.make({ maxLeased: 2 });
      await discover(subject.store, filter, urls('a', 3));
      await calls.lease(filter, 1, LONG_MS);
      await calls.take(filter, 1);
      expect((await get(filter, 'a'))!.nextAt).toBeUndefined();
      clock.advance(LONG_MS);
      for (const view of [await get(filter, 'a'), (await list(filter, 10)).get(nameOf('a'))]) {
        expect(view).toMatchObject({ waiting: 2, leased: 1 });
        expect(view!.nextAt).toBeLessThanOrEqual(clock.now());
      }
      expect(await calls.take(filter)).toHaveLength(1);
      expect((await get(filter, 'a'))!.nextAt).toBeUndefined();
    });

    it('make their host wait for its delay since the end of its only lease', async () => {
      const filter = await calls.make({ delayMs: DELAY_MS, maxLeased: 1 });
      await discover(subject.store, filter, urls('a', 2));
      const before = clock.now();
      await calls.lease(filter, 1, LONG_MS);
      const passed = clock.now() - before;
      clock.advance(LONG_MS);
      const { nextAt, ...view } = (await get(filter, 'a'))!;
      expect(view).toMatchObject({ waiting: 2, leased: 0 });
      expect(nextAt! - before - LONG_MS - DELAY_MS).toBeGreaterThanOrEqual(0);
      expect(nextAt! - before - LONG_MS - DELAY_MS).toBeLessThanOrEqual(passed);
      expect(await calls.take(filter)).toEqual([]);
      expect((await get(filter, 'a'))!.nextAt).toBe(nextAt);
    });

    it('don’t count if their host was dropped', async () => {
      const filter = await calls.make({ maxLeased: 4 });
      const expected = await fill(filter);
      for (const host of Object.keys(expected)) if (host !== 'waiting') await drop(filter, host);
      for (const host of ['delayed', 'scheduled', 'leased']) {
        await discover(subject.store, filter, urls(host, 1, 10));
        const view = await get(filter, host);
        expect({ host, ...countsIn(view!) }).toEqual({ host, ...NONE, waiting: 1 });
        expect(view!.nextAt).toBeLessThanOrEqual(clock.now());
      }
      const views = await list(filter, 10);
      expect([...views.values()].map(({ waiting }) => waiting)).toEqual([1, 1, 1, 1]);
    });

    it('no longer count towards maxLeased if their host was dropped', async () => {
      const filter = await calls.make({ maxLeased: 1 });
      await discover(subject.store, filter, urls('a', 1));
      await calls.lease(filter, 1, SHORTER_MS);
      await drop(filter, 'a');
      await discover(subject.store, filter, urls('a', 1, 1));
      expect(await get(filter, 'a')).toEqual({ ...NONE, name: nameOf('a'), waiting: 1 });
      clock.advance(SHORTER_MS);
      const view = await get(filter, 'a');
      expect(view).toMatchObject({ ...NONE, waiting: 1 });
      expect(view!.nextAt).toBeLessThanOrEqual(clock.now());
    });

    it('count in their former state if too many are due, until they move', async () => {
      const filter = await calls.make({});
      const all = urls('a', 140);
      await discover(subject.store, filter, all);
      for (const _ of all) await calls.lease(filter, 1, LONG_MS);
      clock.advance(LONG_MS);
      const { waiting, leased, nextAt } = (await get(filter, 'a'))!;
      expect(waiting).toBeGreaterThanOrEqual(50);
      expect(waiting).toBeLessThan(all.length);
      expect(waiting + leased).toBe(all.length);
      expect(nextAt).toBeLessThanOrEqual(clock.now());
      let taken = 0;
      while (taken < all.length) taken += (await calls.take(filter)).length;
      expect(await get(filter, 'a')).toMatchObject({ waiting: 0, leased: all.length });
    });
  });
}
