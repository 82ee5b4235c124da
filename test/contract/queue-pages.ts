import { describe, expect, it } from '@jest/globals';
import {
  ENTRY_STATES,
  type EntryPage,
  type EntryState,
  type Filter,
  type LeasedEntry,
  type QueueEntry,
} from '#store';
import { SWEEP_AFTER_MS } from '../../libs/store/src/sweeping.js';
import { clock } from '../support/clock.js';
import { Random } from '../support/random.js';
import { until } from '../support/until.js';
import { check, discover, expectStale, made, remove } from './calls.js';
import { EntryCalls } from './entry-calls.js';
import { HELD_MS, urls } from './host-calls.js';
import { payloads } from './queue-calls.js';
import type { Subject } from './subject.js';

/** The states in which entries come back at a given time. */
const COMES_BACK: ReadonlySet<EntryState> = new Set(['leased', 'delayed', 'scheduled']);

/** Looking into queues. */
export function queuePagesContract(subject: Subject): void {
  const calls = new EntryCalls(subject);
  /** Resolves once all forgotten entries are swept out. */
  const swept = async (filter: Filter): Promise<void> => {
    clock.advance(SWEEP_AFTER_MS);
    await until('it is swept', async () => (await calls.queueOf(filter)).forgotten === 0);
  };

  describe.each(calls.kinds)('the entries of a queue %s', (_, make) => {
    it.each([1, 7, 1_000])('are listed in each state, %s per page', async (limit) => {
      const filter = await make({ maxAttempts: 1 });
      const startedMs = clock.now();
      const started = Math.floor(startedMs / 1_000);
      const { of, held } = await calls.fill(filter, 15);
      const found = await calls.list(filter, {}, limit);
      const expected = ENTRY_STATES.flatMap((state) =>
        of[state].map((payload) => ({
          ...{ id: expect.stringMatching(/^[\w-]{1,64}$/), payload, state },
          ...{ attempt: state === 'leased' || state === 'dead' ? 1 : 0, discoveredAt: expect.any(Number) },
          ...(COMES_BACK.has(state) && { dueAt: expect.any(Number) }),
          ...(state === 'dead' && { reason: 'gone' }),
          ...(filter.perHost && { host: new URL(payload).hostname }),
        })),
      );
      expect(sorted(found)).toEqual(sorted(expected));
      expect(new Set(found.map(({ id }) => id)).size).toBe(expected.length);
      for (const { discoveredAt, state } of found) {
        // A scheduled entry counts as discovered when it comes back.
        const later = state === 'scheduled' ? HELD_MS / 1_000 : 0;
        expect(discoveredAt).toBeGreaterThanOrEqual(started + later);
        expect(discoveredAt).toBeLessThanOrEqual(clock.now() / 1_000 + later);
      }
      const dueAt = new Map(found.map((entry) => [entry.payload, entry.dueAt ?? 0]));
      // The leases of the second and third entries were extended by a second.
      const isExtended = ({ payload }: LeasedEntry): boolean =>
        held.slice(1, 3).some((entry) => entry.payload === payload);
      /** When a lease's entries come back. Entries in one segment come back at the same time. */
      const endsOf = (entries: readonly LeasedEntry[]): number[] => {
        const segments = filter.perHost ? calls.bySegment(payloads(entries)) : [payloads(entries)];
        return segments.flatMap((some) => {
          const ends = new Set(some.map((url) => dueAt.get(url)!));
          expect(ends.size).toBeLessThanOrEqual(1);
          return [...ends];
        });
      };
      const [ends, extended] = [
        endsOf(held.filter((entry) => !isExtended(entry))),
        endsOf(held.filter(isExtended)),
      ];
      expect(Math.min(...extended)).toBeGreaterThanOrEqual(Math.max(...ends) + 1_000);
      for (const at of [
        ...[...ends, ...extended.map((end) => end - 1_000)],
        ...[...of.delayed, ...of.scheduled].map((url) => dueAt.get(url)),
      ]) {
        expect(at).toBeGreaterThanOrEqual(startedMs + HELD_MS);
        expect(at).toBeLessThanOrEqual(clock.now() + HELD_MS);
      }
      for (const state of ENTRY_STATES)
        expect(sorted(await calls.list(filter, { state }, limit))).toEqual(
          sorted(found.filter((entry) => entry.state === state)),
        );
    });

    it('are listed in all segments, after a restart between pages, without forgotten ones', async () => {
      let filter = await make({ maxAttempts: 1 }, 'segmented');
      const { of } = await calls.fill(filter, 40);
      const gone = Object.values(of).flatMap((some) => some.slice(0, 10));
      await remove(subject.store, filter, gone);
      const found: QueueEntry[] = [];
      for (let after: string | undefined, more = true; more;) {
        const page = await subject.store.queue.entries(filter, {}, 30, after);
        found.push(...page.entries);
        after = page.next;
        more = after !== undefined;
        filter = await calls.reopened(filter);
      }
      const live = Object.values(of).flatMap((some) => some.slice(10));
      expect([...new Set(payloads(found))].sort()).toEqual(live.sort());
    });

    it('get a new id whenever they move', async () => {
      const filter = await make({ maxAttempts: 2 });
      await discover(subject.store, filter, urls('a', 1));
      const [waiting] = await calls.list(filter);
      const [first] = await calls.lease(filter, 1, HELD_MS);
      const [leased] = await calls.list(filter);
      await calls.release(filter, [first!], { delayMs: HELD_MS });
      const [delayed] = await calls.list(filter);
      clock.advance(HELD_MS);
      await calls.ack(filter, await calls.lease(filter, 1, HELD_MS), HELD_MS);
      const [scheduled] = await calls.list(filter);
      clock.advance(HELD_MS);
      for (let n = 0; n < 2; n++) await calls.release(filter, await calls.lease(filter, 1, HELD_MS));
      const [dead] = await calls.list(filter);
      const all = [waiting, leased, delayed, scheduled, dead];
      expect(all.map((entry) => entry!.state)).toEqual(ENTRY_STATES);
      expect(all.map((entry) => entry!.attempt)).toEqual([0, 1, 1, 0, 2]);
      expect(new Set(all.map((entry) => entry!.id)).size).toBe(all.length);
    });

    it('are all listed if they stay while others move and are swept out', async () => {
      const random = new Random();
      console.log(`SEED=${random.seed}`);
      const filter = await make({ maxAttempts: 2 }, 'segmented');
      const { of, held } = await calls.fill(filter, 40);
      await discover(subject.store, filter, urls('d', 40));
      const stays = [
        ...held.filter((__, n) => n % 2 === 0).map(({ payload }) => payload),
        ...of.delayed.filter((__, n) => n % 2 === 0),
        ...urls('d', 40).filter((__, n) => n % 2 === 0),
      ];
      const leaving = held.filter((__, n) => n % 2 === 1);
      const forgotten = [
        ...of.delayed.filter((__, n) => n % 2 === 1),
        ...urls('d', 40).filter((__, n) => n % 2 === 1),
      ];
      const found = new Set<string>();
      const moved: string[] = [];
      let pages = 0;
      // If a slot moves, listing all lanes starts over.
      await subject.harness.still(async () => {
        for (let after: string | undefined, more = true; more && pages < 2_000; pages++) {
          const limit = 1 + random.below(9);
          const page = await subject.store.queue.entries(filter, {}, limit, after);
          for (const { payload } of page.entries) found.add(payload);
          after = page.next;
          more = after !== undefined;
          const one = random.below(4);
          if (one === 0) await calls.ack(filter, leaving.splice(0, 1));
          else if (one === 1) await remove(subject.store, filter, forgotten.splice(0, 2));
          else if (one === 2)
            await discover(subject.store, filter, urls(`e${random.below(50)}`, 3, 3 * pages));
          else moved.push(...(await calls.take(filter, 1)));
          if (pages % 7 === 0) clock.advance(SWEEP_AFTER_MS);
        }
      });
      expect(pages).toBeLessThan(2_000);
      expect(stays.filter((payload) => !found.has(payload) && !moved.includes(payload))).toEqual([]);
    });

    it('are all listed if others before them are swept out between pages', async () => {
      const filter = await make();
      await discover(subject.store, filter, urls('a', 80));
      const { entries, next } = await subject.store.queue.entries(filter, {}, 20);
      await remove(subject.store, filter, payloads(entries).slice(0, 15));
      await swept(filter);
      const others = await subject.store.queue.entries(filter, {}, 1_000, next);
      const found = new Set(payloads([...entries, ...others.entries]));
      expect(found.size).toBe(80);
    });

    it('belong to one generation, with any cursor', async () => {
      const filter = await make();
      await discover(subject.store, filter, [...urls('a', 20), ...urls('b', 20)]);
      const other = await make();
      await discover(subject.store, other, urls('c', 20));
      const { next } = await subject.store.queue.entries(other, {}, 3);
      const { next: own } = await subject.store.queue.entries(filter, {}, 3);
      const strange = [
        ...[
          '',
          '0',
          'x',
          '-'.repeat(64),
          '_'.repeat(64),
          'A'.repeat(64),
          'Zm9v',
          '\u0000é',
          'a'.repeat(10_000),
        ],
        ...[next!, own!.slice(0, -1), `${own!}AA`, `${own!.slice(0, 1)}_${own!.slice(2)}`],
        ...Array.from({ length: 60 }, (__, n) => changed(own!, n)),
      ];
      for (const cursor of strange) {
        const { entries } = await subject.store.queue.entries(filter, {}, 1_000, cursor);
        for (const { payload, id } of entries) {
          expect(payload).toMatch(/^http:\/\/[ab]\.example\/\d+$/);
          expect(id).toMatch(/^[\w-]+$/);
        }
      }
      const begun = await subject.store.queue.entries(filter, {}, 1_000, next);
      expect(new Set(payloads(begun.entries)).size).toBe(40);
      // Also the other way round, because generations are random, and cursors are compared in their order.
      const others = await subject.store.queue.entries(other, {}, 1_000, own);
      expect(new Set(payloads(others.entries)).size).toBe(20);
      await subject.store.clear(filter.name, filter.kind, made());
      await expectStale(subject.store.queue.entries(filter, {}, 10));
      const fresh = await subject.store.open(filter.name, filter.kind);
      expect(await subject.store.queue.entries(fresh, {}, 10, own)).toEqual({ entries: [] });
    });

    it('are listed a bounded number at a time, in a set that has grown', async () => {
      const filter = await make({ capacity: 500, growsTo: Infinity });
      const all = Array.from({ length: 30 }, (__, n) => urls(`h${n}`, 50)).flat();
      for (let from = 0; from < all.length; from += 300)
        await discover(subject.store, filter, all.slice(from, from + 300));
      expect((await subject.store.describe(filter)).layers.length).toBeGreaterThan(1);
      const found = await calls.list(filter, {}, 5_000);
      expect(payloads(found).sort()).toEqual([...all].sort());
      const { entries } = await subject.store.queue.entries(filter, {}, 5_000);
      expect(entries.length).toBeLessThanOrEqual(1_000);
      await calls.drop(filter, found.slice(5));
      // Hosts have left the queue, so others may be on two pages.
      expect(new Set(payloads(await calls.list(filter))).size).toBe(5);
      expect(await calls.take(filter, 1_000)).toHaveLength(5);
      expect(new Set(await check(subject.store, filter, all.slice(0, 300)))).toEqual(new Set([1]));
    });
  });

  it('the entries of a queue with one lane aren’t listed by host', async () => {
    const filter = await calls.plain();
    await expect(subject.store.queue.entries(filter, { host: 'a.example' }, 10)).rejects.toThrow(TypeError);
  });

  describe('the entries of a host', () => {
    it.each([1, 7, 1_000])('are listed alone, in each state, %s per page', async (limit) => {
      const filter = await calls.make({}, { maxAttempts: 1 });
      const { of } = await calls.fill(filter, 15);
      for (const name of ['a', 'b', 'c']) {
        const host = `${name}.example`;
        const isHere = (url: string) => new URL(url).hostname === host;
        const found = await calls.list(filter, { host }, limit);
        expect(payloads(found).sort()).toEqual(Object.values(of).flat().filter(isHere).sort());
        for (const state of ENTRY_STATES)
          expect(payloads(await calls.list(filter, { host, state }, limit)).sort()).toEqual(
            of[state].filter(isHere).sort(),
          );
      }
      expect(await calls.list(filter, { host: 'd.example' })).toEqual([]);
      expect(await calls.list(filter, { host: '' })).toEqual([]);
    });

    it('are listed from any page on when most other hosts are gone', async () => {
      const filter = await calls.make({}, { capacity: 20_000 });
      const urlsOf = (count: number, name: string) =>
        Array.from({ length: count }, (_, n) => urls(`${name}${n}`, 1)).flat();
      const [stays, gone] = [urlsOf(150, 's'), urlsOf(2_000, 'g')];
      for (let from = 0; from < gone.length; from += 500)
        await discover(subject.store, filter, gone.slice(from, from + 500));
      await discover(subject.store, filter, stays);
      const pages: { readonly after: string; readonly listed: ReadonlySet<string> }[] = [];
      const listed = new Set<string>();
      await subject.harness.still(async () => {
        for (let after: string | undefined, more = true; more;) {
          const page = await subject.store.queue.entries(filter, {}, 9, after);
          for (const { payload } of page.entries) listed.add(payload);
          after = page.next;
          more = after !== undefined;
          if (after !== undefined) pages.push({ after, listed: new Set(listed) });
        }
      });
      expect(listed.size).toBe(2_150);
      await calls.forget(filter, gone);
      await swept(filter);
      for (const { after: first, listed: before } of pages.filter((_, n) => n % 8 === 0)) {
        const found = new Set(before);
        await subject.harness.still(async () => {
          for (let after: string | undefined = first; after !== undefined;) {
            const page: EntryPage = await subject.store.queue.entries(filter, {}, 1_000, after);
            for (const { payload } of page.entries) found.add(payload);
            after = page.next;
          }
        });
        expect(stays.filter((url) => !found.has(url))).toEqual([]);
      }
    });

    it('aren’t listed after they were dropped with the host', async () => {
      const filter = await calls.make({}, { maxAttempts: 1 });
      await calls.fill(filter, 15);
      const all = await calls.list(filter);
      const [own, others] = [
        all.filter(({ host }) => host === 'a.example'),
        all.filter(({ host }) => host !== 'a.example'),
      ];
      await subject.store.hosts.drop(filter, 'a.example', made());
      expect(await calls.list(filter, {}, 7)).toEqual(others);
      expect(await calls.list(filter, { host: 'a.example' })).toEqual([]);
      await calls.drop(filter, own);
      await discover(subject.store, filter, urls('a', 1, 90));
      expect(payloads(await calls.list(filter, { host: 'a.example' }))).toEqual(urls('a', 1, 90));
    });

    it('are listed in its lane’s order', async () => {
      const filter = await calls.make({});
      for (let n = 0; n < 20; n++)
        await discover(subject.store, filter, [...urls('a', 7, 7 * n), ...urls('b', 1, n)]);
      expect(payloads(await calls.list(filter, { host: 'a.example' }, 9))).toEqual(urls('a', 140));
    });
  });
}

function sorted<T extends { readonly payload: string }>(entries: readonly T[]): T[] {
  return [...entries].sort((a, b) => (a.payload < b.payload ? -1 : 1));
}

/** The text with another character at one place. */
function changed(text: string, at: number): string {
  const place = at % text.length;
  return text.slice(0, place) + (text[place] === 'Q' ? 'R' : 'Q') + text.slice(place + 1);
}
