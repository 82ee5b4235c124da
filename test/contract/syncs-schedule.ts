import { describe, expect, it } from '@jest/globals';
import { Added, Kept, Settled, type Filter, type LeasedEntry } from '#store';
import { clock } from '../support/clock.js';
import { until } from '../support/until.js';
import { items, makeFilter, SEGMENTED, type FilterOptions } from './calls.js';
import { HELD_MS, HostCalls, hostOptions, urls } from './host-calls.js';
import { payloads } from './queue-calls.js';
import type { Subject } from './subject.js';
import { SyncCalls } from './sync-calls.js';

const HOUR_MS = 3_600_000;

const SETS: FilterOptions[] = [
  {},
  { segmentation: SEGMENTED },
  hostOptions({}),
  hostOptions({ maxUrls: 1_000 }, { growsTo: Infinity }),
];

/** Some URLs for each name, which is also their host's name. */
function urlsOf<Name extends string>(count: number, ...names: Name[]): Record<Name, string[]> {
  return Object.fromEntries(names.map((name) => [name, urls(name, count)])) as Record<Name, string[]>;
}

/** Scheduled entries whose time comes between the opening of a sync and its commit. */
export function syncScheduleContract(subject: Subject): void {
  const syncs = new SyncCalls(subject);
  const calls = new HostCalls(subject);
  const make = (options: FilterOptions = {}): Promise<Filter> =>
    makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-9, ...options });
  const schedule = (filter: Filter, keys: readonly string[]) =>
    calls.discover(filter, keys, { delayMs: HOUR_MS });
  /** Leases all entries that can be leased. */
  const leaseAll = async (filter: Filter): Promise<LeasedEntry[]> => {
    const all = await calls.lease(filter, 1_000, HELD_MS);
    for (let more = all; more.length > 0; all.push(...more)) more = await calls.lease(filter, 1_000, HELD_MS);
    return all;
  };
  const takeAll = async (filter: Filter) => payloads(await leaseAll(filter)).sort();
  const of = (entries: readonly LeasedEntry[], keys: readonly string[]) =>
    entries.filter(({ payload }) => keys.includes(payload));

  describe('a sync of a visited set, while scheduled entries come due,', () => {
    it.each(SETS)('drops those that it doesn’t list, and keeps all others, %j', async (options) => {
      const filter = await make(options);
      const { dropped, listed, found, before, leased, later } = urlsOf(
        100,
        ...(['dropped', 'listed', 'found', 'before', 'leased', 'later'] as const),
      );
      await calls.discover(filter, before);
      await schedule(filter, [...dropped, ...listed, ...found]);
      await calls.discover(filter, leased);
      const held = await calls.lease(filter, 200, HELD_MS);
      await calls.release(filter, of(held, before));
      const sync = await syncs.open(filter);
      const opened = await syncs.current(filter);
      await syncs.keep(filter, sync, listed.slice(0, 50));
      await schedule(opened, later);
      await calls.ack(opened, of(held, leased), HOUR_MS);
      clock.advance(HOUR_MS);
      // All of them come due now, and wait again.
      await calls.release(opened, await leaseAll(opened));
      await syncs.keep(filter, sync, listed.slice(50));
      expect(await schedule(opened, found)).toEqual(found.map(() => Added.Present));
      expect(await syncs.commit(filter, sync)).toMatchObject({ state: 'committed' });
      const now = await syncs.current(filter);
      expect(await syncs.check(filter, dropped)).toEqual(dropped.map(() => 0));
      const kept = [...listed, ...found, ...before, ...leased, ...later];
      expect(await syncs.check(filter, kept)).toEqual(kept.map(() => 1));
      expect(await takeAll(now)).toEqual(kept.sort());
      // URLs that are discovered again have one entry.
      expect(await calls.discover(now, dropped)).toEqual(dropped.map(() => Added.New));
      expect(await takeAll(now)).toEqual(dropped.sort());
    });

    it.each(SETS)('drops them wherever they are at the commit, %j', async (options) => {
      const filter = await make({ maxAttempts: 2, ...options });
      const places = urlsOf(
        20,
        ...(['waiting', 'leased', 'delayed', 'dead', 'again', 'acked', 'high'] as const),
      );
      const { waiting, leased, delayed, dead, again, acked, high } = places;
      await schedule(filter, [...waiting, ...leased, ...delayed, ...dead, ...again, ...acked]);
      await calls.discover(filter, high, { priority: 'high', delayMs: HOUR_MS });
      const sync = await syncs.open(filter);
      const opened = await syncs.current(filter);
      clock.advance(HOUR_MS);
      const held = await leaseAll(opened);
      expect(held).toHaveLength(140);
      await calls.ack(opened, of(held, acked));
      await calls.ack(opened, of(held, again), HOUR_MS);
      await calls.release(opened, of(held, delayed), { delayMs: HOUR_MS });
      await calls.release(opened, [...of(held, dead), ...of(held, waiting), ...of(held, high)]);
      const twice = (await leaseAll(opened)).filter(({ payload }) => dead.includes(payload));
      await calls.release(opened, twice);
      expect(await calls.letters(opened)).toHaveLength(20);
      await syncs.commit(filter, sync);
      const now = await syncs.current(filter);
      expect(await calls.letters(now)).toEqual([]);
      const entries = of(held, leased);
      expect(await calls.ack(now, entries)).toEqual(entries.map(() => Settled.Unknown));
      clock.advance(2 * HELD_MS);
      expect(await takeAll(now)).toEqual([]);
      await until('no entry is left', async () => {
        const { forgotten: _, ...counts } = await calls.queueOf(now);
        return Object.values(counts).every((count) => count === 0);
      });
    });

    it.each(SETS)(
      'drops those that come due several times, and keeps those that it lists, %j',
      async (options) => {
        const filter = await make(options);
        const { waiting, scheduled, listed, since } = urlsOf(
          20,
          ...(['waiting', 'scheduled', 'listed', 'since'] as const),
        );
        await schedule(filter, [...waiting, ...scheduled, ...listed]);
        const sync = await syncs.open(filter);
        const opened = await syncs.current(filter);
        await schedule(opened, since);
        for (let time = 0; time < 3; time++) {
          clock.advance(HOUR_MS);
          await calls.ack(opened, await leaseAll(opened), HOUR_MS);
        }
        clock.advance(HOUR_MS);
        const held = await leaseAll(opened);
        expect(held).toHaveLength(80);
        await calls.ack(opened, of(held, scheduled), HOUR_MS);
        await calls.release(opened, of(held, [...waiting, ...listed, ...since]));
        await syncs.keep(filter, sync, listed);
        await syncs.commit(filter, sync);
        const now = await syncs.current(filter);
        expect(await takeAll(now)).toEqual([...listed, ...since].sort());
        clock.advance(HOUR_MS);
        expect(await takeAll(now)).toEqual([]);
      },
    );

    it('drops none of them if it is abandoned, and the next sync keeps them', async () => {
      const filter = await make({ segmentation: SEGMENTED });
      await schedule(filter, items(40));
      const abandoned = await syncs.open(filter);
      clock.advance(HOUR_MS);
      const held = await calls.lease(await syncs.current(filter), 40);
      expect(held).toHaveLength(40);
      await calls.release(await syncs.current(filter), held);
      await syncs.abandon(filter, abandoned);
      const next = await syncs.open(filter);
      await syncs.commit(filter, next);
      expect(await takeAll(await syncs.current(filter))).toEqual(items(40).sort());
    });

    it('drops only those from its own time, one sync after the other', async () => {
      const filter = await make({ segmentation: SEGMENTED });
      await schedule(filter, items(30, 'first'));
      await calls.discover(filter, items(30, 'second'), { delayMs: 2 * HOUR_MS });
      await calls.discover(filter, items(30, 'third'), { delayMs: 3 * HOUR_MS });
      const comeDue = async () => {
        clock.advance(HOUR_MS);
        const now = await syncs.current(filter);
        await calls.release(now, await calls.lease(now, 1_000));
      };
      const rest = [...items(30, 'second'), ...items(30, 'third')];
      const first = await syncs.open(filter);
      await comeDue();
      await syncs.keep(filter, first, rest);
      await syncs.commit(filter, first);
      const second = await syncs.open(filter);
      await comeDue();
      await syncs.keep(filter, second, [...items(10, 'second'), ...items(30, 'third')]);
      await syncs.commit(filter, second);
      await comeDue();
      const third = await syncs.open(filter);
      await syncs.commit(filter, third);
      const kept = [...items(10, 'second'), ...items(30, 'third')];
      expect(await takeAll(await syncs.current(filter))).toEqual(kept.sort());
    });

    it('drops them although the store is closed and opened again before the commit', async () => {
      const filter = await make({ segmentation: SEGMENTED });
      await schedule(filter, items(60));
      const sync = await syncs.open(filter);
      await subject.reopen();
      clock.advance(HOUR_MS);
      const opened = await syncs.current(filter);
      await calls.release(opened, await calls.lease(opened, 100));
      await subject.reopen();
      await syncs.keep(filter, sync, items(20));
      await syncs.commit(filter, sync);
      await subject.reopen();
      expect(await takeAll(await syncs.current(filter))).toEqual(items(20).sort());
    });

    it('keeps URLs that are forgotten and discovered again, with one entry each', async () => {
      const filter = await make({ segmentation: SEGMENTED });
      await schedule(filter, items(40));
      const sync = await syncs.open(filter);
      clock.advance(HOUR_MS);
      const opened = await syncs.current(filter);
      await calls.release(opened, await calls.lease(opened, 100));
      await calls.forget(opened, items(20));
      expect(await calls.discover(opened, items(10))).toEqual(items(10).map(() => Added.New));
      expect(await syncs.keep(filter, sync, items(40).slice(10, 20))).toEqual(
        items(10).map(() => Kept.Forgotten),
      );
      await syncs.commit(filter, sync);
      expect(await syncs.check(filter, items(40))).toEqual(items(40).map((_, n) => (n < 10 ? 1 : 0)));
      expect(await takeAll(await syncs.current(filter))).toEqual(items(10).sort());
    });

    it('drops and keeps the same entries in a set that ages', async () => {
      const filter = await make({ maxAgeSeconds: 86_400, segmentation: SEGMENTED });
      await schedule(filter, items(40));
      const sync = await syncs.open(filter);
      clock.advance(HOUR_MS);
      const opened = await syncs.current(filter);
      await calls.release(opened, await calls.lease(opened, 100));
      await syncs.keep(filter, sync, items(10));
      expect(await calls.discover(opened, items(20))).toEqual(items(20).map(() => Added.Present));
      await syncs.commit(filter, sync);
      const now = await syncs.current(filter);
      expect(await takeAll(now)).toEqual(items(20).sort());
      expect(await syncs.check(filter, items(40))).toEqual(items(40).map((_, n) => (n < 20 ? 1 : 0)));
    });

    it('drops listed entries that expire before the commit in a set that ages', async () => {
      const filter = await make({ maxAgeSeconds: 86_400, segmentation: SEGMENTED });
      await calls.discover(filter, items(10), { delayMs: 23 * HOUR_MS });
      const sync = await syncs.open(filter);
      expect(await syncs.keep(filter, sync, items(10))).toEqual(items(10).map(() => Kept.Present));
      clock.advance(23 * HOUR_MS);
      const opened = await syncs.current(filter);
      await calls.release(opened, await leaseAll(opened));
      clock.advance(4 * HOUR_MS);
      await syncs.commit(filter, sync);
      expect(await takeAll(await syncs.current(filter))).toEqual([]);
    });

    it.each<FilterOptions>([{ segmentation: SEGMENTED }, hostOptions({})])(
      'drops no later entries of URLs that expired in the meantime; %j',
      async (options) => {
        const filter = await make({ ...options, maxAgeSeconds: (2 * HOUR_MS) / 1_000 });
        const all = urls('a', 20);
        await schedule(filter, all);
        const sync = await syncs.open(filter);
        clock.advance(HOUR_MS);
        const opened = await syncs.current(filter);
        const held = await leaseAll(opened);
        await calls.release(opened, held.slice(0, 10));
        await calls.ack(opened, held.slice(10));
        clock.advance(4 * HOUR_MS);
        expect(await calls.discover(opened, all)).toEqual(all.map(() => Added.New));
        clock.advance(4 * HOUR_MS);
        await syncs.commit(filter, sync);
        const now = await syncs.current(filter);
        expect(await syncs.check(filter, all)).toEqual(all.map(() => 0));
        expect(await takeAll(now)).toEqual([...all].sort());
      },
    );
  });
}
