import { describe, expect, it } from '@jest/globals';
import {
  ENTRY_STATES,
  LEASE_ENDED,
  MAX_LEASE_MS,
  type EntryQuery,
  type EntryState,
  type Filter,
} from '#store';
import { clock } from '../support/clock.js';
import { check, discover } from './calls.js';
import { EntryCalls } from './entry-calls.js';
import { HELD_MS, urls } from './host-calls.js';
import { payloads } from './queue-calls.js';
import type { Subject } from './subject.js';

/** Longer than any test takes. Held entries are still held after this time. */
const SHORT_MS = 2_000_000;
/** After this time, all entries of EntryCalls.fill are due. */
const OVER_MS = HELD_MS + SHORT_MS;

type Items = Record<EntryState, string[]>;

/** Lists and drops of entries whose leases, delays and schedules have ended, although no worker has leased since. */
export function queueDueEntriesContract(subject: Subject): void {
  const calls = new EntryCalls(subject);

  /** Entries by state, with the entries that are due in their states after the next lease. */
  const overdue = async (filter: Filter, each: number): Promise<Items> => {
    const { of, held } = await calls.fill(filter, each);
    const extended = held.slice(3, 6);
    clock.advance(SHORT_MS);
    await calls.extend(filter, extended, HELD_MS);
    clock.advance(HELD_MS - SHORT_MS / 2);
    const leased = payloads(extended);
    const ended = of.leased.filter((url) => !leased.includes(url));
    // Without more attempts, they become dead letters.
    const back = [...ended, ...of.dead];
    const isExhausted = filter.maxAttempts === 1;
    const waiting = [...of.waiting, ...of.delayed, ...of.scheduled, ...(isExhausted ? [] : back)];
    return { waiting, leased, delayed: [], scheduled: [], dead: isExhausted ? back : [] };
  };

  describe.each(calls.kinds)('the due entries of a queue %s', (_, make) => {
    /** Lists all entries, by state. */
    const listed = async (filter: Filter, query: EntryQuery, limit: number): Promise<Items> => {
      const of: Items = { waiting: [], leased: [], delayed: [], scheduled: [], dead: [] };
      for (const { payload, state } of await calls.list(filter, query, limit)) of[state].push(payload);
      for (const some of Object.values(of)) some.sort();
      return of;
    };
    const sorted = (of: Items, only?: EntryState): Items => ({
      ...{ waiting: [], leased: [], delayed: [], scheduled: [], dead: [] },
      ...Object.fromEntries(
        ENTRY_STATES.filter((state) => (only ?? state) === state).map((state) => [state, of[state].sort()]),
      ),
    });

    it.each([1, 7, 1_000])('are listed in the states that a lease gives them, %s per page', async (limit) => {
      const filter = await make({ maxAttempts: 1 }, 'segmented');
      const of = await overdue(filter, 15);
      expect(await listed(filter, {}, limit)).toEqual(sorted(of));
      for (const state of ENTRY_STATES)
        expect(await listed(filter, { state }, limit)).toEqual(sorted(of, state));
      if (filter.perHost)
        for (const host of ['a.example', 'b.example'])
          expect((await listed(filter, { host, state: 'waiting' }, limit)).waiting).toEqual(
            of.waiting.filter((url) => new URL(url).hostname === host),
          );
      const found = await calls.list(filter, {}, limit);
      for (const { state, dueAt, reason } of found) {
        expect(dueAt === undefined).toBe(state !== 'leased');
        expect(reason === undefined).toBe(state !== 'dead');
      }
      const ended = found.filter(({ reason }) => reason === LEASE_ENDED);
      expect(ended).toHaveLength(12);
      expect(ended.every(({ attempt }) => attempt === 1)).toBe(true);
      // A lease that finds entries may not have moved all that are due.
      const taken: string[] = [];
      for (
        let some = await calls.take(filter, 1_000);
        some.length > 0;
        some = await calls.take(filter, 1_000)
      )
        taken.push(...some);
      expect(taken.sort()).toEqual(of.waiting);
      const letters = await calls.letters(filter);
      expect(letters.map(({ item }) => item).sort()).toEqual(of.dead);
    });

    it.each([
      ['dropped', 'drop', 1],
      ['forgotten', 'removeListed', 0],
    ] as const)(
      'are %s with the waiting ones, and not with those that are still leased',
      async (__, how, visited) => {
        const filter = await make({ maxAttempts: 2 }, 'segmented');
        const of = await overdue(filter, 15);
        const leased = await calls.list(filter, { state: 'leased' });
        expect(payloads(leased).sort()).toEqual(of.leased.sort());
        const waiting = await calls.list(filter, { state: 'waiting' }, 7);
        expect(await calls[how](filter, waiting)).toEqual(of.waiting.map(() => 1));
        expect(await listed(filter, {}, 1_000)).toEqual(sorted({ ...of, waiting: [] }));
        expect(await calls.take(filter, 1_000)).toEqual([]);
        expect(payloads(await calls.list(filter, { state: 'leased' })).sort()).toEqual(of.leased);
        expect(await check(subject.store, filter, of.waiting)).toEqual(of.waiting.map(() => visited));
      },
    );

    it.each<EntryQuery>([{}, { state: 'waiting' }])(
      'are listed although the queue takes them back between two pages of %j',
      async (query) => {
        const filter = await make();
        await discover(subject.store, filter, [...urls('a', 40), ...urls('b', 40)]);
        await calls.lease(filter, 30, SHORT_MS);
        await calls.release(filter, await calls.lease(filter, 30, SHORT_MS), { delayMs: SHORT_MS });
        clock.advance(2 * SHORT_MS);
        const found = new Set<string>();
        await subject.harness.still(async () => {
          let pages = 0;
          for (let after: string | undefined, more = true; more; pages++) {
            const page = await subject.store.queue.entries(filter, query, 5, after);
            for (const { payload } of page.entries) found.add(payload);
            // A change takes back due entries in its segments.
            if (pages === 1)
              await discover(subject.store, filter, [...urls('a', 1, 90), ...urls('b', 1, 90)]);
            after = page.next;
            more = after !== undefined;
          }
        });
        const all = [...urls('a', 40), ...urls('b', 40)];
        expect(all.filter((url) => !found.has(url))).toEqual([]);
      },
    );

    it('are listed once each if they become due between two pages', async () => {
      const filter = await make({ maxAttempts: 2 });
      const { of } = await calls.fill(filter, 15);
      const all = Object.values(of).flat().sort();
      const found: string[] = [];
      await subject.harness.still(async () => {
        for (let after: string | undefined, more = true; more;) {
          const page = await subject.store.queue.entries(filter, {}, 7, after);
          found.push(...payloads(page.entries));
          if (after === undefined) clock.advance(OVER_MS);
          after = page.next;
          more = after !== undefined;
        }
      });
      expect(found.sort()).toEqual(all);
    });

    it.each([
      ['leased', (filter: Filter) => calls.lease(filter, 40, MAX_LEASE_MS)],
      [
        'delayed',
        async (filter: Filter) =>
          calls.release(filter, await calls.lease(filter, 40, SHORT_MS), { delayMs: MAX_LEASE_MS }),
      ],
    ])('are listed if they become %s for the longest time between two pages', async (_state, move) => {
      const filter = await make();
      await discover(subject.store, filter, urls('a', 40));
      const found = new Set<string>();
      await subject.harness.still(async () => {
        for (let after: string | undefined, more = true; more;) {
          const page = await subject.store.queue.entries(filter, {}, 5, after);
          for (const { payload } of page.entries) found.add(payload);
          clock.advance(1_000);
          if (after === undefined) await move(filter);
          after = page.next;
          more = after !== undefined;
        }
      });
      expect([...found].sort()).toEqual(urls('a', 40).sort());
    });

    it('are listed by host and state, even if the host has no others', async () => {
      const filter = await make({ maxAttempts: 1 });
      if (!filter.perHost) return;
      await discover(subject.store, filter, urls('leased', 3));
      await calls.lease(filter, 3, HELD_MS);
      await discover(subject.store, filter, urls('delayed', 3));
      await calls.release(filter, await calls.lease(filter, 3, HELD_MS), {
        delayMs: HELD_MS,
        countAttempt: false,
      });
      await discover(subject.store, filter, urls('scheduled', 3), undefined, { delayMs: HELD_MS });
      clock.advance(HELD_MS);
      for (const host of ['leased', 'delayed', 'scheduled'])
        for (const state of ENTRY_STATES) {
          const found = payloads(await calls.list(filter, { host: `${host}.example`, state }));
          const isListed = state === (host === 'leased' ? 'dead' : 'waiting');
          expect([host, state, found.sort()]).toEqual([host, state, isListed ? urls(host, 3) : []]);
        }
    });

    it('include those whose time is too far ahead, because the clock was set back', async () => {
      const filter = await make({ maxAttempts: 2 });
      await discover(subject.store, filter, urls('a', 9));
      await discover(subject.store, filter, urls('b', 1), undefined, { delayMs: HELD_MS });
      await calls.lease(filter, 3, HELD_MS);
      await calls.release(filter, await calls.lease(filter, 3, HELD_MS), { delayMs: HELD_MS });
      // If a slot moves, a call may be repeated. A repeat from before the records began is refused.
      const of = await subject.harness.still(async () => {
        clock.advance(-HELD_MS);
        const now = await listed(filter, {}, 4);
        clock.advance(HELD_MS);
        return now;
      });
      expect(of.waiting).toEqual(urls('a', 9));
      expect(of.scheduled).toEqual(urls('b', 1));
    });
  });
}
