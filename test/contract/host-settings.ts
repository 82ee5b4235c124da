import { describe, expect, it } from '@jest/globals';
import {
  Added,
  Settled,
  type Filter,
  type Hosts,
  type HostSettings,
  type HostView,
  type PerHost,
} from '#store';
import { SWEEP_AFTER_MS } from '../../libs/store/src/sweeping.js';
import { clock } from '../support/clock.js';
import { exportFile, importFile } from '../support/export-files.js';
import { Random } from '../support/random.js';
import { until } from '../support/until.js';
import { check, discover, expectStale, keyed, made, makeFilter, type FilterOptions } from './calls.js';
import { DELAY_MS, HELD_MS, HostCalls, ofHost, urls } from './host-calls.js';
import { LONG_MS, OVER_MS, payloads } from './queue-calls.js';
import type { Subject } from './subject.js';
import { SyncCalls } from './sync-calls.js';

const NONE = { waiting: 0, leased: 0, delayed: 0, scheduled: 0, dead: 0 };
/** Leases and delays that end only when the clock moves. */
const TERM_MS = 3_600_000;

/** The calls on a queue's hosts. */
export function hostSettingsContract(subject: Subject): void {
  const calls = new HostCalls(subject);
  const make = (perHost: PerHost, more?: FilterOptions): Promise<Filter> => calls.make(perHost, more);
  const hosts = (): Hosts => subject.store.hosts;
  const get = (filter: Filter, host: string): Promise<HostView | undefined> =>
    hosts().get(filter, `${host}.example`);
  const set = (filter: Filter, host: string, settings: HostSettings, operation = made()) =>
    hosts().set(filter, `${host}.example`, settings, operation);
  const drop = (filter: Filter, host: string, operation = made()) =>
    hosts().drop(filter, `${host}.example`, operation);
  /** All hosts, page by page. While a slot moves, a host may appear twice. */
  const list = (filter: Filter, limit: number): Promise<HostView[]> =>
    subject.harness.still(async () => {
      const found: HostView[] = [];
      for (let after: string | undefined, more = true; more;) {
        const { hosts: page, next } = await hosts().list(filter, limit, after);
        expect(page.length).toBeLessThanOrEqual(limit);
        found.push(...page);
        after = next;
        more = next !== undefined;
      }
      return found;
    });

  const sorted = (views: readonly HostView[]): HostView[] =>
    views.toSorted(({ name: one }, { name: other }) => (one < other ? -1 : 1));

  describe('the hosts of a queue', () => {
    it('are listed page by page, each once, with their counts', async () => {
      const filter = await make({ maxUrls: 9 }, { maxAttempts: 1 });
      const names = Array.from({ length: 23 }, (_, n) => `h${n}`);
      await discover(
        subject.store,
        filter,
        names.flatMap((name, n) => urls(name, 1 + (n % 3))),
      );
      const all = await list(filter, 1_000);
      expect(all.map(({ name }) => name).sort()).toEqual(names.map((name) => `${name}.example`).sort());
      for (const limit of [1, 7, 23]) expect(sorted(await list(filter, limit))).toEqual(sorted(all));
      // A cursor that the store did not give begins with the first page.
      for (const cursor of ['x', '0--1', `0--${'9'.repeat(23)}`]) {
        const { hosts: first } = await hosts().list(filter, 1_000, cursor);
        expect(sorted(first)).toEqual(sorted(all));
      }
      const found = new Map(all.map(({ name, ...rest }) => [name, rest]));
      for (const [n, name] of names.entries()) {
        const count = 1 + (n % 3);
        expect(found.get(`${name}.example`)).toEqual({
          ...{ ...NONE, waiting: count, found: count, nextAt: expect.any(Number) },
        });
      }
    });

    it('are empty, and none is found, in a new set', async () => {
      const filter = await make({});
      expect(await hosts().list(filter, 10)).toEqual({ hosts: [] });
      expect(await get(filter, 'a')).toBeUndefined();
      expect(await drop(filter, 'a')).toBe(0);
    });

    it('count entries by state, and say when the next one may be leased', async () => {
      const filter = await make({ delayMs: DELAY_MS, maxLeased: 2 }, { maxAttempts: 1 });
      await discover(subject.store, filter, [...urls('a', 6), ...urls('b', 1)]);
      const started = clock.now();
      expect((await get(filter, 'a'))!.nextAt).toBeLessThanOrEqual(started);
      const some = await calls.lease(filter, 10, HELD_MS, { maxPerHost: 2 });
      const [first, second] = ofHost(some, 'a');
      expect(await get(filter, 'a')).toEqual({ ...NONE, name: 'a.example', waiting: 4, leased: 2 });
      await calls.release(filter, [first!], { delayMs: LONG_MS, countAttempt: false });
      await calls.release(filter, [second!]);
      const view = await get(filter, 'a');
      expect(view).toMatchObject({ waiting: 4, leased: 0, delayed: 1, dead: 1 });
      expect(view!.nextAt! - started).toBeGreaterThanOrEqual(DELAY_MS);
      expect(view!.nextAt! - clock.now()).toBeLessThanOrEqual(DELAY_MS);
      expect(await get(filter, 'b')).toEqual({ ...NONE, name: 'b.example', leased: 1 });
      await calls.ack(filter, some);
      expect(await get(filter, 'b')).toBeUndefined();
    });

    it('exist only in sets with perHost, for one generation', async () => {
      const plain = await makeFilter(subject.store, { kind: 'visited-set' });
      await expect(hosts().list(plain, 1)).rejects.toThrow(TypeError);
      await expect(get(plain, 'a')).rejects.toThrow(TypeError);
      await expect(set(plain, 'a', {})).rejects.toThrow(TypeError);
      await expect(drop(plain, 'a')).rejects.toThrow(TypeError);
      const filter = await make({});
      await subject.store.clear(filter.name, filter.kind, made());
      await expectStale(hosts().list(filter, 1));
    });
  });

  describe('the settings of a host', () => {
    it('replace the set’s limits for this host', async () => {
      const { New, Limited } = Added;
      let filter = await make({ delayMs: DELAY_MS, maxLeased: 1, maxUrls: 2 });
      const own = { delayMs: 0, maxLeased: 3, maxUrls: 4 };
      expect(await set(filter, 'a', { own })).toEqual({ ...NONE, name: 'a.example', found: 0, own });
      expect(await discover(subject.store, filter, urls('a', 5))).toEqual([New, New, New, New, Limited]);
      expect(await discover(subject.store, filter, urls('b', 3))).toEqual([New, New, Limited]);
      filter = await calls.reopened(filter);
      expect((await get(filter, 'a'))!.own).toEqual(own);
      const some = await calls.lease(filter, 10, HELD_MS);
      calls.expectInTurn(payloads(some), [...urls('a', 3), ...urls('b', 1)]);
      await calls.ack(filter, some);
      expect(await calls.take(filter)).toEqual(urls('a', 1, 3));
      await set(filter, 'a', {});
      expect(await get(filter, 'a')).toEqual({ ...NONE, name: 'a.example', leased: 1, found: 4 });
      await calls.forget(filter, urls('a', 2));
      expect(await discover(subject.store, filter, urls('a', 1, 7))).toEqual([Limited]);
    });

    it('can be narrower than the set’s', async () => {
      const filter = await make({});
      await set(filter, 'a', { own: { delayMs: DELAY_MS, maxLeased: 1 } });
      await discover(subject.store, filter, [...urls('a', 2), ...urls('b', 2)]);
      const some = await calls.lease(filter, 10, HELD_MS);
      calls.expectInTurn(payloads(some), [...urls('a', 1), ...urls('b', 2)]);
      await calls.ack(filter, some);
      expect(await calls.take(filter)).toEqual([]);
      clock.advance(DELAY_MS);
      expect(await calls.take(filter)).toEqual(urls('a', 1, 1));
    });

    it('block a host until a time, which can come sooner or later', async () => {
      let filter = await make({});
      await discover(subject.store, filter, [...urls('a', 2), ...urls('b', 1)]);
      const blockedUntil = clock.now() + 3 * 86_400_000;
      expect(await set(filter, 'a', { blockedUntil })).toMatchObject({ blockedUntil, nextAt: blockedUntil });
      await calls.ack(filter, await calls.lease(filter, 10));
      filter = await calls.reopened(filter);
      clock.advance(86_400_000);
      expect(await calls.take(filter)).toEqual([]);
      await set(filter, 'a', { blockedUntil: clock.now() + DELAY_MS });
      expect(await calls.take(filter)).toEqual([]);
      clock.advance(DELAY_MS);
      expect(await calls.take(filter, 1)).toEqual(urls('a', 1));
      expect(await get(filter, 'a')).toEqual({
        ...{ ...NONE, name: 'a.example', waiting: 1, leased: 1 },
        nextAt: expect.any(Number),
      });
    });

    it('block a host until that time even if the clock is set back', async () => {
      const filter = await make({});
      await discover(subject.store, filter, urls('a', 1));
      await set(filter, 'a', { blockedUntil: clock.now() + DELAY_MS });
      // If a slot moves, a call may be repeated. A repeat from before the records began is refused.
      await subject.harness.still(async () => {
        clock.advance(-10 * DELAY_MS);
        expect(await calls.take(filter)).toEqual([]);
        clock.advance(2 * DELAY_MS);
        expect(await calls.take(filter)).toEqual([]);
      });
      clock.advance(9 * DELAY_MS);
      expect(await calls.take(filter)).toEqual(urls('a', 1));
    });

    it('end a delay that a release set, but not the host’s delay', async () => {
      const filter = await make({ delayMs: DELAY_MS });
      await discover(subject.store, filter, [...urls('a', 2), ...urls('b', 2)]);
      const some = await calls.lease(filter, 2);
      await calls.release(filter, some, { hostDelayMs: 100 * DELAY_MS });
      await set(filter, 'a', {});
      clock.advance(DELAY_MS);
      expect(await calls.take(filter)).toEqual(urls('a', 1, 1));
    });

    it('wake a waiting lease', async () => {
      const filter = await make({});
      await set(filter, 'a', { blockedUntil: clock.now() + HELD_MS });
      await discover(subject.store, filter, urls('a', 1));
      const woken = new Promise<void>((resolve) => {
        subject.store.queue.watch(filter, resolve);
      });
      await set(filter, 'a', {});
      await woken;
      expect(await calls.take(filter)).toEqual(urls('a', 1));
    });

    it('are applied once, and a repeat gets the same answer', async () => {
      const filter = await make({});
      const operation = keyed();
      const first = await set(filter, 'a', { own: { maxLeased: 2 } }, operation);
      await set(filter, 'a', { own: { maxLeased: 7 } });
      expect(await set(filter, 'a', { own: { maxLeased: 2 } }, { ...operation, repeat: true })).toEqual(
        first,
      );
      expect((await get(filter, 'a'))!.own).toEqual({ maxLeased: 7 });
    });

    it('are part of exports', async () => {
      const filter = await make({ maxUrls: 3 });
      const blockedUntil = clock.now() + 3 * 86_400_000;
      await set(filter, 'a', { own: { delayMs: 0, maxUrls: 1 }, blockedUntil });
      await set(filter, 'b', { own: { maxLeased: 1 } });
      await discover(subject.store, filter, urls('b', 2));
      const file = await exportFile(subject.store, filter);
      const copied = await importFile(subject.store, file, made(), `${filter.name}.copy`);
      expect(sorted(await list(copied, 10))).toEqual(sorted(await list(filter, 10)));
      expect(await calls.take(copied)).toEqual(urls('b', 1));
    });

    it.each([
      [{ own: { delayMs: -1 } }, /delayMs .* from 0 to 86400000, not -1/],
      [{ own: { maxLeased: 0 } }, /maxLeased .* not 0/],
      [{ own: { maxUrls: 1.5 } }, /maxUrls .* not 1\.5/],
      [{ blockedUntil: 1.5 }, /blockedUntil .* not 1\.5/],
      [{ blockedUntil: 2 ** 53 }, /blockedUntil .* not 9007199254740992/],
    ])('can’t be %j', async (settings, message) => {
      const filter = await make({ maxUrls: 3 });
      await expect(set(filter, 'a', settings)).rejects.toThrow(RangeError);
      await expect(set(filter, 'a', settings)).rejects.toThrow(message);
      await expect(hosts().set(filter, 'x'.repeat(65_536), {}, made())).rejects.toThrow(RangeError);
      await expect(set(await make({}), 'a', { own: { maxUrls: 1 } })).rejects.toThrow(TypeError);
      expect(await hosts().list(filter, 10)).toEqual({ hosts: [] });
    });
  });

  describe('dropping a host', () => {
    const empty = { waiting: 0, leased: 0, delayed: 0, scheduled: 0, dead: 0, forgotten: 0 };

    it('drops its entries wherever they are, and no others', async () => {
      let filter = await make({}, { maxAttempts: 1 });
      await discover(subject.store, filter, urls('a', 8));
      const some = await calls.lease(filter, 3, HELD_MS);
      await discover(subject.store, filter, urls('b', 2));
      const [leased, delayed, dead] = some;
      await calls.release(filter, [delayed!], { delayMs: 1, countAttempt: false });
      await calls.release(filter, [dead!]);
      const { entries: letters } = await subject.store.queue.deadLetters(filter, 10);
      const operation = keyed();
      expect(await drop(filter, 'a', operation)).toBe(8);
      expect(await calls.queueOf(filter)).toMatchObject({ ...empty, waiting: 2 });
      expect(await get(filter, 'a')).toBeUndefined();
      filter = await calls.reopened(filter);
      expect(await calls.queueOf(filter)).toMatchObject({ ...empty, waiting: 2 });
      clock.advance(OVER_MS);
      expect(await calls.letters(filter)).toEqual([]);
      expect(await calls.take(filter)).toEqual(urls('b', 2));
      expect(await calls.ack(filter, [leased!])).toEqual([Settled.Unknown]);
      expect(await calls.extend(filter, [leased!], LONG_MS)).toEqual([Settled.Expired]);
      const ids = letters.map(({ id }) => id);
      expect([...(await subject.store.queue.putBack(filter, ids, made()))]).toEqual([Settled.Unknown]);
      expect([...(await subject.store.queue.purge(filter, ids, made()))]).toEqual([Settled.Unknown]);
      // The URLs stay visited.
      expect(await check(subject.store, filter, urls('a', 8))).toEqual(urls('a', 8).map(() => 1));
      expect(await drop(filter, 'a', { ...operation, repeat: true })).toBe(8);
      expect(await drop(filter, 'a')).toBe(0);
    });

    it('counts entries that were forgotten or dropped earlier, until the queue has removed them', async () => {
      const filter = await make({});
      const make6 = async () => {
        await discover(subject.store, filter, urls('a', 6));
        const { entries } = await subject.store.queue.entries(filter, { host: 'a.example' }, 1);
        await subject.store.queue.drop(
          filter,
          entries.map(({ id }) => id),
          made(),
        );
        await calls.forget(filter, urls('a', 1, 5));
      };
      await make6();
      const dropped = await drop(filter, 'a');
      expect(dropped).toBeGreaterThanOrEqual(4);
      expect(dropped).toBeLessThanOrEqual(6);
      await calls.forget(filter, urls('a', 6));
      await make6();
      clock.advance(SWEEP_AFTER_MS);
      await until('the queue is swept', async () => {
        clock.advance(SWEEP_AFTER_MS);
        return (await calls.queueOf(filter)).forgotten === 0;
      });
      expect(await drop(filter, 'a')).toBe(4);
    });

    it('keeps later URLs, its pace and its settings', async () => {
      const filter = await make({ delayMs: DELAY_MS });
      await set(filter, 'a', { own: { maxLeased: 5 } });
      await discover(subject.store, filter, urls('a', 3));
      await calls.lease(filter, 1, HELD_MS);
      expect(await drop(filter, 'a')).toBe(3);
      await discover(subject.store, filter, urls('a', 2, 3));
      expect(await get(filter, 'a')).toMatchObject({ ...NONE, waiting: 2, own: { maxLeased: 5 } });
      expect(await calls.take(filter)).toEqual([]);
      clock.advance(DELAY_MS);
      expect(await calls.take(filter)).toEqual(urls('a', 1, 3));
      expect(await drop(filter, 'a')).toBe(2);
      expect(await calls.queueOf(filter)).toEqual(empty);
    });

    it('removes its entries from exports and syncs', async () => {
      const syncs = new SyncCalls(subject);
      const filter = await make({}, { maxAttempts: 1 });
      await discover(subject.store, filter, [...urls('a', 9), ...urls('b', 1)]);
      const some = await calls.lease(filter, 4, HELD_MS, { maxPerHost: 3 });
      await calls.release(filter, ofHost(some, 'a').slice(0, 1));
      await drop(filter, 'a');
      const file = await exportFile(subject.store, filter);
      const copied = await importFile(subject.store, file, made(), `${filter.name}.copy`);
      expect(await calls.queueOf(copied)).toMatchObject({ ...empty, waiting: 1 });
      const sync = await syncs.open(filter);
      await syncs.commit(filter, sync);
      expect(await syncs.check(filter, [...urls('a', 9), ...urls('b', 1)])).toEqual([
        ...urls('a', 9).map(() => 0),
        1,
      ]);
    });

    it('keeps the counts right in random sequences of calls', async () => {
      const random = new Random();
      const filter = await make({ maxLeased: 3 }, { maxAttempts: 2 });
      /** The entries that were not dropped, acknowledged, or purged. */
      const live = new Map<string, string>();
      let made = 0;
      let passed = 0;
      let held: Awaited<ReturnType<typeof calls.lease>> = [];
      const take = () => held.splice(0, random.below(held.length + 1));
      for (let step = 0; step < 120; step++) {
        const host = `h${random.below(4)}`;
        const steps = [
          async () => {
            const some = urls(host, 1 + random.below(5), made);
            made += some.length;
            for (const url of some) live.set(url, host);
            await discover(subject.store, filter, some);
          },
          async () => void held.push(...(await calls.lease(filter, 1 + random.below(8), TERM_MS))),
          async () => {
            const some = take();
            for (const [n, answer] of (await calls.ack(filter, some)).entries()) {
              if (answer !== Settled.Expired)
                expect(answer === Settled.Done).toBe(live.has(some[n]!.payload));
              if (answer === Settled.Done) live.delete(some[n]!.payload);
            }
          },
          async () =>
            calls.release(filter, take(), {
              delayMs: (random.below(3) * TERM_MS) / 2,
              countAttempt: random.below(2) === 0,
            }),
          async () => {
            const times = random.below(2);
            clock.advance(times * TERM_MS);
            passed += times;
          },
          async () => {
            const expected = [...live.values()].filter((of) => of === host).length;
            expect(await drop(filter, host)).toBe(expected);
            for (const [url, of] of live) if (of === host) live.delete(url);
          },
          async () => calls.putBack(filter, new Set(live.keys())),
        ];
        await steps[random.below(steps.length)]!();
        const all = await list(filter, 3);
        const sum = (state: 'waiting' | 'leased' | 'delayed' | 'dead') =>
          all.reduce((total, view) => total + view[state], 0);
        const { waiting, leased, delayed, dead } = await calls.queueOf(filter);
        // Entries whose lease or delay has ended count as waiting in the queue before they do in their hosts.
        if (passed === 0)
          expect([waiting, leased, delayed]).toEqual((['waiting', 'leased', 'delayed'] as const).map(sum));
        expect(waiting + leased + delayed).toBe(sum('waiting') + sum('leased') + sum('delayed'));
        expect(dead).toBe(sum('dead'));
        expect(waiting + leased + delayed + dead).toBe(live.size);
      }
      clock.advance(2 * TERM_MS);
      const found = new Set<string>();
      for (let turn = 0; turn < 200 && found.size < live.size; turn++) {
        await calls.putBack(filter, new Set(live.keys()));
        held = await calls.lease(filter, 100);
        await calls.ack(filter, held);
        for (const { payload } of held) found.add(payload);
      }
      expect([...found].sort()).toEqual([...live.keys()].sort());
      await until('nothing is left', async () => {
        await calls.lease(filter, 1);
        return (await list(filter, 10)).length === 0;
      });
    });
  });
}
