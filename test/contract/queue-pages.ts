import { describe, expect, it } from '@jest/globals';
import type { Segmentation } from '#bloom';
import {
  Added,
  ENTRY_STATES,
  Settled,
  type EntryQuery,
  type EntryState,
  type Filter,
  type LeasedEntry,
  type QueueEntry,
} from '#store';
import { SWEEP_AFTER_MS } from '../../libs/store/src/sweeping.js';
import { clock } from '../support/clock.js';
import { exportFile, importFile } from '../support/export-files.js';
import { Random } from '../support/random.js';
import { until } from '../support/until.js';
import {
  check,
  discover,
  expectRefusal,
  expectStale,
  keyed,
  made,
  makeFilter,
  remove,
  SEGMENTED,
  type FilterOptions,
} from './calls.js';
import { HELD_MS, HostCalls, urls } from './host-calls.js';
import { OVER_MS, payloads } from './queue-calls.js';
import type { Subject } from './subject.js';
import { SyncCalls } from './sync-calls.js';

const LONG_MS = 80_000_000;

/** Looking into queues, and dropping entries. */
export function queuePagesContract(subject: Subject): void {
  const calls = new HostCalls(subject);
  const syncs = new SyncCalls(subject);
  const plain = (more: FilterOptions = {}): Promise<Filter> =>
    makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-9, capacity: 5_000, ...more });
  const withHosts = (more?: FilterOptions): Promise<Filter> => calls.make({}, more);
  const kinds = [
    ['with one lane', plain],
    ...(subject.knowsHosts ? ([['that knows hosts', withHosts]] as const) : []),
  ] as const;

  /** All entries, page by page. A moving slot may have a page begin anew. */
  const list = (filter: Filter, query: EntryQuery = {}, limit = 1_000): Promise<QueueEntry[]> =>
    subject.harness.still(async () => {
      const found: QueueEntry[] = [];
      for (let after: string | undefined, more = true; more;) {
        const page = await subject.store.queue.entries(filter, query, limit, after);
        expect(page.entries.length).toBeLessThanOrEqual(limit);
        found.push(...page.entries);
        after = page.next;
        more = after !== undefined;
        if (after !== undefined) expect(after).toMatch(/^[\w-]{1,64}$/);
      }
      return found;
    });
  const drop = (filter: Filter, entries: readonly { id: string }[], operation = made()): Promise<void> =>
    subject.store.queue.drop(
      filter,
      entries.map(({ id }) => id),
      operation,
    );
  const ofUrls = async (filter: Filter, wanted: readonly string[]): Promise<QueueEntry[]> =>
    (await list(filter)).filter(({ payload }) => wanted.includes(payload));
  const counts = async (filter: Filter): Promise<readonly number[]> => {
    const { waiting, leased, delayed, dead } = await calls.queueOf(filter);
    return [waiting, leased, delayed, dead];
  };

  /** Entries in each state: `each` of them, with a lease that holds them and twice as many in all. */
  const fill = async (
    filter: Filter,
    each: number,
    names = ['a', 'b', 'c'],
  ): Promise<{ readonly of: Record<EntryState, string[]>; readonly held: LeasedEntry[] }> => {
    const all = names.flatMap((name) => urls(name, Math.ceil((4 * each) / names.length)));
    await discover(subject.store, filter, all);
    const [dead, delayed, held] = [
      await calls.lease(filter, each, HELD_MS),
      await calls.lease(filter, each, HELD_MS),
      await calls.lease(filter, each, HELD_MS),
    ];
    await calls.release(filter, dead, { reason: 'gone' });
    await calls.release(filter, delayed, { delayMs: LONG_MS, countAttempt: false });
    // Some have an end of their own.
    await calls.extend(filter, held.slice(1, 3), HELD_MS + 1_000);
    const taken = payloads([...dead, ...delayed, ...held]);
    const of = {
      waiting: all.filter((url) => !taken.includes(url)),
      ...{ leased: payloads(held), delayed: payloads(delayed), dead: payloads(dead), scheduled: [] },
    };
    return { of, held };
  };

  describe.each(kinds)('the entries of a queue %s', (_, make) => {
    it.each([1, 7, 1_000])('are listed in each state, %s a page', async (limit) => {
      const filter = await make({ maxAttempts: 1 });
      const started = Math.floor(clock.now() / 1_000);
      const { of } = await fill(filter, 15);
      const found = await list(filter, {}, limit);
      const expected = ENTRY_STATES.flatMap((state) =>
        of[state].map((payload) => ({
          ...{ id: expect.stringMatching(/^[\w-]{1,64}$/), payload, state },
          ...{ attempt: state === 'leased' || state === 'dead' ? 1 : 0, discoveredAt: expect.any(Number) },
          ...(state === 'dead' && { reason: 'gone' }),
          ...(filter.perHost && { host: new URL(payload).hostname }),
        })),
      );
      expect(sorted(found)).toEqual(sorted(expected));
      expect(new Set(found.map(({ id }) => id)).size).toBe(expected.length);
      for (const { discoveredAt } of found) {
        expect(discoveredAt).toBeGreaterThanOrEqual(started);
        expect(discoveredAt).toBeLessThanOrEqual(clock.now() / 1_000);
      }
      for (const state of ENTRY_STATES)
        expect(sorted(await list(filter, { state }, limit))).toEqual(
          sorted(found.filter((entry) => entry.state === state)),
        );
    });

    it('are listed in all segments, after a restart between pages, without forgotten ones', async () => {
      let filter = await make({ segmentation: filterSegments(make === plain), maxAttempts: 1 });
      const { of } = await fill(filter, 40);
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

    it('keep their ids wherever they go', async () => {
      const filter = await make({ maxAttempts: 2 });
      await discover(subject.store, filter, urls('a', 1));
      const [waiting] = await list(filter);
      const [first] = await calls.lease(filter, 1, HELD_MS);
      const [leased] = await list(filter);
      await calls.release(filter, [first!], { delayMs: 1 });
      const [delayed] = await list(filter);
      clock.advance(OVER_MS);
      await calls.release(filter, await calls.lease(filter, 1, HELD_MS));
      const [dead] = await list(filter);
      expect([waiting, leased, delayed, dead].map((entry) => entry!.state)).toEqual(ENTRY_STATES);
      expect([waiting, leased, delayed, dead].map((entry) => entry!.attempt)).toEqual([0, 1, 1, 2]);
      expect(new Set([waiting, leased, delayed, dead].map((entry) => entry!.id)).size).toBe(1);
    });

    it('are all listed if they stay while others move and are swept out', async () => {
      const random = new Random();
      const filter = await make({ maxAttempts: 2, segmentation: filterSegments(make === plain) });
      const { of, held } = await fill(filter, 40);
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
      for (let after: string | undefined, more = true; more && pages < 2_000; pages++) {
        const limit = 1 + random.below(9);
        const page = await subject.store.queue.entries(filter, {}, limit, after);
        for (const { payload } of page.entries) found.add(payload);
        after = page.next;
        more = after !== undefined;
        const one = random.below(4);
        if (one === 0) await calls.ack(filter, leaving.splice(0, 1));
        else if (one === 1) await remove(subject.store, filter, forgotten.splice(0, 2));
        else if (one === 2) await discover(subject.store, filter, urls(`e${random.below(50)}`, 3, 3 * pages));
        else moved.push(...(await calls.take(filter, 1)));
        if (pages % 7 === 0) clock.advance(SWEEP_AFTER_MS);
      }
      expect(pages).toBeLessThan(2_000);
      expect(stays.filter((payload) => !found.has(payload) && !moved.includes(payload))).toEqual([]);
    });

    it('are those of one generation, whatever the cursor', async () => {
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
      expect(begun.entries).toHaveLength(40);
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
      const found = await list(filter, {}, 5_000);
      expect(payloads(found).sort()).toEqual([...all].sort());
      const { entries } = await subject.store.queue.entries(filter, {}, 5_000);
      expect(entries.length).toBeLessThanOrEqual(1_000);
      await drop(filter, found.slice(5));
      expect(await list(filter)).toHaveLength(5);
      expect(await calls.take(filter, 1_000)).toHaveLength(5);
      expect(new Set(await check(subject.store, filter, all.slice(0, 300)))).toEqual(new Set([1]));
    });
  });

  describe.each(kinds)('dropped entries of a queue %s', (_, make) => {
    it('are never leased again, from whichever state, and their URLs stay visited', async () => {
      const filter = await make({ maxAttempts: 1 });
      const { of, held } = await fill(filter, 15);
      const letters = (await subject.store.queue.deadLetters(filter, 100)).entries;
      const gone = Object.values(of).flatMap((some) => some.slice(0, -1));
      const all = Object.values(of).flat();
      await drop(filter, await ofUrls(filter, gone));
      expect(payloads(await list(filter)).sort()).toEqual(all.filter((url) => !gone.includes(url)).sort());
      // The entries of the lease that were not dropped go on.
      const answers = await calls.ack(filter, held);
      expect(answers).toEqual(held.map((__, n) => (n < 14 ? Settled.Unknown : Settled.Done)));
      const put = await subject.store.queue.putBack(
        filter,
        letters.map(({ id }) => id),
        made(),
      );
      const done = letters.map(({ payload }) => (gone.includes(payload) ? Settled.Unknown : Settled.Done));
      expect([...put]).toEqual(done);
      clock.advance(2 * LONG_MS);
      const left = [of.waiting, of.delayed, of.dead].map((some) => some.at(-1)!);
      expect((await calls.take(filter, 100)).sort()).toEqual(left.sort());
      expect(await check(subject.store, filter, all)).toEqual(all.map(() => 1));
      expect(await discover(subject.store, filter, all)).toEqual(all.map(() => Added.Present));
      expect(await calls.take(filter, 100)).toEqual([]);
    });

    it('no longer belong to a lease: its repeat leaves them out, and no release brings them back', async () => {
      const filter = await make();
      await discover(subject.store, filter, urls('a', 4));
      const operation = { ...made(), repeat: true };
      const lease = () => subject.store.queue.lease(filter, 4, HELD_MS, operation);
      const leased = await lease();
      await drop(filter, await ofUrls(filter, urls('a', 2)));
      expect(payloads(await lease())).toEqual(urls('a', 2, 2));
      expect(await calls.extend(filter, leased.slice(0, 1), HELD_MS)).toEqual([Settled.Unknown]);
      expect(await calls.release(filter, leased.slice(1))).toEqual([0, 1, 1]);
      expect((await calls.take(filter)).sort()).toEqual(urls('a', 2, 2));
    });

    it('do not come back when their lease ends or their delay is over, even after a restart', async () => {
      let filter = await make();
      await discover(subject.store, filter, urls('a', 4));
      await calls.release(filter, await calls.lease(filter, 2, HELD_MS), { delayMs: LONG_MS });
      await calls.lease(filter, 2, HELD_MS);
      await drop(filter, (await list(filter)).slice(1));
      filter = await calls.reopened(filter);
      clock.advance(2 * LONG_MS);
      expect(await calls.take(filter)).toHaveLength(1);
    });

    it('leave the counts within a minute, wherever they are', async () => {
      const filter = await make({ maxAttempts: 1, segmentation: filterSegments(make === plain) });
      const { of } = await fill(filter, 15);
      const gone = Object.values(of).flatMap((some) => some.slice(1));
      await drop(filter, await ofUrls(filter, gone));
      expect(await counts(filter)).toEqual([15, 15, 15, 15]);
      clock.advance(SWEEP_AFTER_MS);
      await until('only live entries count', async () => {
        const { waiting, leased, delayed, dead, forgotten } = await calls.queueOf(filter);
        return waiting + leased + delayed + dead === 4 && forgotten === 0;
      });
      expect(await counts(filter)).toEqual([1, 1, 1, 1]);
      expect(payloads(await list(filter)).sort()).toEqual(
        Object.values(of)
          .map(([first]) => first)
          .sort(),
      );
    });

    it('are those that the ids name, and no others', async () => {
      const filter = await make();
      const other = await make();
      await discover(subject.store, filter, urls('a', 3));
      await discover(subject.store, other, urls('a', 3));
      const own = await list(filter);
      const foreign = (await list(other)).map(({ id }) => id);
      const strange = [
        ...['', 'x', 'A'.repeat(40), '_'.repeat(40), '\u0000', 'é'.repeat(40), 'a'.repeat(10_000)],
        ...[own[0]!.id.slice(1), `${own[0]!.id}A`, own[0]!.id.slice(0, -1), own[0]!.id.slice(0, 28)],
        // Births that no entry has yet.
        ...own.map(({ id }) => withBirth(id, 2 ** 48 - 1)),
        ...own.map(({ id }) => withBirth(id, 0)),
      ];
      await subject.store.queue.drop(filter, [...strange, ...foreign], made());
      await subject.store.queue.drop(filter, [], made());
      expect(await list(filter)).toEqual(own);
      await remove(subject.store, filter, urls('a', 1));
      await discover(subject.store, filter, urls('a', 1));
      expect((await calls.take(filter)).sort()).toEqual(urls('a', 3));
    });

    it('are not the later entries of the same URL', async () => {
      const filter = await make();
      const [a] = urls('a', 1);
      await discover(subject.store, filter, [a!]);
      const [first] = await list(filter);
      await calls.ack(filter, await calls.lease(filter, 1));
      await remove(subject.store, filter, [a!]);
      await discover(subject.store, filter, [a!, ...urls('b', 1)]);
      await drop(filter, [first!]);
      const now = await list(filter);
      expect(payloads(now).sort()).toEqual([a, ...urls('b', 1)]);
      expect(now.map(({ id }) => id)).not.toContain(first!.id);
      await drop(
        filter,
        now.filter(({ payload }) => payload === a),
      );
      expect(payloads(await list(filter))).toEqual(urls('b', 1));
      await remove(subject.store, filter, [a!]);
      expect(await discover(subject.store, filter, [a!])).toEqual([Added.New]);
      expect(payloads(await list(filter)).sort()).toEqual([a, ...urls('b', 1)]);
      expect((await calls.take(filter)).sort()).toEqual([a, ...urls('b', 1)]);
    });

    it('do not bring forgotten entries of their URLs back', async () => {
      const filter = await make();
      const [a] = urls('a', 1);
      await discover(subject.store, filter, [a!]);
      const [first] = await list(filter);
      const some = await calls.lease(filter, 1, HELD_MS);
      await remove(subject.store, filter, [a!]);
      await discover(subject.store, filter, [a!]);
      some.push(...(await calls.lease(filter, 1, HELD_MS)));
      await remove(subject.store, filter, [a!]);
      await drop(filter, [first!]);
      expect(await list(filter)).toEqual([]);
      await calls.reopened(filter);
      expect(await calls.ack(filter, some)).toEqual([Settled.Unknown, Settled.Unknown]);
    });

    it('are dropped once: a repeat of the call changes nothing', async () => {
      const filter = await make();
      await discover(subject.store, filter, urls('a', 3));
      const [first, ...others] = await list(filter);
      const operation = keyed();
      await drop(filter, [first!], operation);
      await drop(filter, [first!], operation);
      await drop(filter, [first!, ...others], operation);
      expect(await list(filter)).toEqual(others);
      await expectRefusal(
        drop(filter, others, { ...operation, fingerprint: 'another' }),
        'IDEMPOTENCY_KEY_REUSED',
      );
      expect(await list(filter)).toEqual(others);
    });

    it('stay visited after a sync that was open', async () => {
      const filter = await make({ maxAttempts: 1 });
      const { of } = await fill(filter, 20);
      const all = Object.values(of).flat();
      const [before] = of.waiting;
      await drop(filter, await ofUrls(filter, [before!]));
      const sync = await syncs.open(filter);
      const gone = Object.values(of).flatMap((some) => some.slice(1, -1));
      await drop(await syncs.current(filter), await ofUrls(filter, gone));
      await syncs.commit(filter, sync);
      const now = await syncs.current(filter);
      // An entry that was dropped before the opening is not in the queue that the sync keeps.
      expect(await check(subject.store, now, all)).toEqual(all.map((url) => (url === before ? 0 : 1)));
      const left = Object.values(of).flatMap((some) => [some[0]!, some.at(-1)!]);
      expect(payloads(await list(now)).sort()).toEqual(left.filter((url) => url !== before).sort());
    });

    it('are not exported, and their ids name none in the copy', async () => {
      const filter = await make({ maxAttempts: 1 });
      const { of } = await fill(filter, 8);
      const before = await list(filter);
      const gone = Object.values(of).map(([first]) => first!);
      await drop(filter, await ofUrls(filter, gone));
      const file = await subject.harness.still(() => exportFile(subject.store, filter));
      const copied = await importFile(subject.store, file, made(), `${filter.name}.copy`);
      const found = await list(copied);
      expect(payloads(found).sort()).toEqual(payloads(await list(filter)).sort());
      expect(new Set(found.map(({ state }) => state))).toEqual(new Set(['waiting', 'dead']));
      await drop(copied, before);
      expect(await list(copied)).toEqual(found);
      await drop(copied, found);
      expect(await list(copied)).toEqual([]);
      expect(await calls.take(copied)).toEqual([]);
    });
  });

  it('the entries of a queue with one lane are not listed by host', async () => {
    const filter = await plain();
    await expect(subject.store.queue.entries(filter, { host: 'a.example' }, 10)).rejects.toThrow(TypeError);
  });

  if (!subject.knowsHosts) return;

  describe('the entries of a host', () => {
    it.each([1, 7, 1_000])('are listed alone, in each state, %s a page', async (limit) => {
      const filter = await withHosts({ maxAttempts: 1 });
      const { of } = await fill(filter, 15);
      for (const name of ['a', 'b', 'c']) {
        const host = `${name}.example`;
        const isHere = (url: string) => new URL(url).hostname === host;
        const found = await list(filter, { host }, limit);
        expect(payloads(found).sort()).toEqual(Object.values(of).flat().filter(isHere).sort());
        for (const state of ENTRY_STATES)
          expect(payloads(await list(filter, { host, state }, limit)).sort()).toEqual(
            of[state].filter(isHere).sort(),
          );
      }
      expect(await list(filter, { host: 'd.example' })).toEqual([]);
      expect(await list(filter, { host: '' })).toEqual([]);
    });

    it('count towards maxUrls after they were dropped', async () => {
      const filter = await calls.make({ maxUrls: 3 });
      await discover(subject.store, filter, urls('a', 3));
      await drop(filter, await list(filter));
      expect(await discover(subject.store, filter, urls('a', 1, 3))).toEqual([Added.Limited]);
      await remove(subject.store, filter, urls('a', 1));
      expect(await discover(subject.store, filter, urls('a', 2, 3))).toEqual([Added.New, Added.Limited]);
      expect(payloads(await list(filter, { host: 'a.example' }))).toEqual(urls('a', 1, 3));
    });

    it('are listed in the order of its lane', async () => {
      const filter = await withHosts();
      for (let n = 0; n < 20; n++)
        await discover(subject.store, filter, [...urls('a', 7, 7 * n), ...urls('b', 1, n)]);
      expect(payloads(await list(filter, { host: 'a.example' }, 9))).toEqual(urls('a', 140));
    });
  });
}

/** Several segments, if the queue has one lane. */
function filterSegments(hasOneLane: boolean): Segmentation {
  return hasOneLane ? SEGMENTED : { maxSegmentBytes: 2 ** 24, minSegments: 1, minSegmentBytes: 1, spread: 1 };
}

function sorted<T extends { readonly payload: string }>(entries: readonly T[]): T[] {
  return [...entries].sort((a, b) => (a.payload < b.payload ? -1 : 1));
}

/** The text with another character at one place. */
function changed(text: string, at: number): string {
  const place = at % text.length;
  return text.slice(0, place) + (text[place] === 'Q' ? 'R' : 'Q') + text.slice(place + 1);
}

/** The id of the same entry with another birth: see entry-id.ts. */
function withBirth(id: string, birth: number): string {
  const bytes = Buffer.from(id, 'base64url');
  bytes.writeUIntBE(birth, 20, 6);
  return bytes.toString('base64url');
}
