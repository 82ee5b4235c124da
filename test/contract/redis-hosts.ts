import { describe, expect, it, jest } from '@jest/globals';
import { Settled, type Filter } from '#store';
import { COPIED_FIELD } from '../../libs/store/src/redis/scripts/queue-state.js';
import { RedisSyncs } from '../../libs/store/src/redis/syncs/syncs.js';
import { SWEEP_AFTER_MS } from '../../libs/store/src/sweeping.js';
import { clock } from '../support/clock.js';
import type { FoundKey, RedisHarness } from '../support/stores.js';
import { until } from '../support/until.js';
import { check, discover, expectRefusal, made, makeFilter, tally } from './calls.js';
import { HELD_MS, HostCalls, hostOptions, urls } from './host-calls.js';
import { LONG_MS } from './queue-calls.js';
import type { Subject } from './subject.js';
import { brokenCopy, SyncCalls } from './sync-calls.js';

/** More entries than one script deletes. */
const ENTRIES = 20_000;
/** Longer than the pause after a sweep. */
const LATER_MS = 10 * SWEEP_AFTER_MS;

/** Hosts of queues as Redis stores them. */
export function redisHosts(subject: Subject<RedisHarness>): void {
  const calls = new HostCalls(subject, 1);
  const keyOf = async ({ generation }: Filter, name: string): Promise<FoundKey> =>
    (await subject.harness.find(`unseen:{${generation}.0.*}:${name}`))[0] as FoundKey;
  const sizeOf = async (filter: Filter, name: string): Promise<number> => {
    const { key, client } = await keyOf(filter, name);
    return (await client.hlen(key)) - 1;
  };
  const drop = (filter: Filter, host: string) => subject.store.hosts.drop(filter, `${host}.example`, made());
  /** Lets the store sweep its queues. */
  const sweptUntil = (filter: Filter, what: string, holds: () => Promise<boolean>): Promise<void> =>
    until(what, async () => {
      clock.advance(LATER_MS);
      await subject.store.queue.lease(filter, 1, 1, made());
      return holds();
    });

  it('the counts of a host read a limited number of its many leased URLs', async () => {
    const filter = await calls.make({});
    for (let from = 0; from < 3_000; from += 1_000)
      await discover(subject.store, filter, urls('a', 1_000, from));
    for (let n = 0; n < 3; n++) await calls.lease(filter, 1_000, HELD_MS);
    clock.advance(HELD_MS);
    const { waiting, leased } = (await subject.store.hosts.get(filter, 'a.example'))!;
    expect({ waiting, leased }).toEqual({ waiting: 1_000, leased: 2_000 });
    const { queue } = await subject.store.describe(filter);
    expect(queue).toMatchObject({ waiting: 1_000, leased: 2_000 });
  });

  describe('the counts of many due entries on Redis', () => {
    const MANY = 600;
    /** How many delayed and how many scheduled entries one script reads, although more are due. */
    const READ = 250;
    /** Has this many of a host's entries come back after a delay. */
    const delay = async (filter: Filter, host: string, count: number, delayMs: number): Promise<void> => {
      await discover(subject.store, filter, urls(host, count));
      await calls.release(filter, await calls.lease(filter, count, HELD_MS), {
        delayMs,
        countAttempt: false,
      });
    };
    const schedule = async (filter: Filter, host: string, count: number, delayMs: number): Promise<void> => {
      await discover(subject.store, filter, urls(host, count), made(), { delayMs });
    };

    it.each([
      ['delayed', delay],
      ['scheduled', schedule],
    ] as const)('read a limited number of %s URLs for a host, which leases then find', async (state, add) => {
      const filter = await calls.make({});
      await add(filter, 'a', MANY, LONG_MS);
      clock.advance(LONG_MS);
      const { hosts } = await subject.store.hosts.list(filter, 10);
      for (const view of [...hosts, await subject.store.hosts.get(filter, 'a.example')])
        expect(view).toMatchObject({ waiting: READ, [state]: MANY - READ });
      expect(await calls.queueOf(filter)).toMatchObject({ waiting: MANY, [state]: 0 });
      const found: string[] = [];
      while (found.length < MANY) {
        const taken = await calls.take(filter, MANY);
        expect(taken).not.toEqual([]);
        found.push(...taken);
      }
      expect(found.sort()).toEqual(urls('a', MANY).sort());
    });

    it.each([
      ['delayed', delay],
      ['scheduled', schedule],
    ] as const)('leave out the first of many dropped URLs that are %s', async (state, add) => {
      const filter = await calls.make({});
      await add(filter, 'a', MANY, LONG_MS);
      await add(filter, 'b', 10, LONG_MS + 1);
      await add(filter, 'c', MANY, 2 * LONG_MS);
      clock.advance(LONG_MS + 1);
      expect(await drop(filter, 'a')).toBe(MANY);
      const waiting = 10 + MANY - READ;
      expect(await calls.queueOf(filter)).toMatchObject({ waiting, [state]: 10 + MANY - waiting });
    });
  });

  describe('dropping a host on Redis', () => {
    it('deletes its waiting entries at once, and its record after a sweep', async () => {
      const filter = await calls.make({});
      for (let from = 0; from < ENTRIES; from += 1_000)
        await discover(subject.store, filter, urls('a', 1_000, from));
      await discover(subject.store, filter, urls('b', 1));
      const held = await calls.lease(filter, 100, HELD_MS, { maxPerHost: 50 });
      expect(await drop(filter, 'a')).toBe(ENTRIES);
      expect(await sizeOf(filter, 'queue:chunks')).toBeLessThanOrEqual(1);
      expect(await sizeOf(filter, 'queue:lanes')).toBe(2);
      await calls.ack(filter, held);
      await sweptUntil(
        filter,
        'the record is deleted',
        async () => (await sizeOf(filter, 'queue:lanes')) === 0,
      );
      expect(await sizeOf(filter, 'queue:leases')).toBe(0);
    });

    it('drops entries although a sweep has passed since another host was dropped', async () => {
      const filter = await calls.make({});
      await discover(subject.store, filter, [...urls('a', 1), ...urls('b', 1)]);
      const held = await calls.lease(filter, 2, HELD_MS);
      await drop(filter, 'a');
      await sweptUntil(
        filter,
        'the record is deleted',
        async () => (await sizeOf(filter, 'queue:lanes')) === 1,
      );
      expect(await drop(filter, 'b')).toBe(1);
      expect(await calls.queueOf(filter)).toMatchObject({ leased: 0 });
      expect(await calls.ack(filter, held.slice(1))).toEqual([Settled.Unknown]);
    });

    it('leaves chunks to a sweep if the instance ended before it deleted them', async () => {
      const filter = await calls.make({});
      await discover(subject.store, filter, urls('a', 500));
      const { key, client } = await keyOf(filter, 'queue:chunks');
      const fields = await client.hkeysBuffer(key);
      const chunks = await client.hmgetBuffer(key, ...fields);
      expect(await drop(filter, 'a')).toBe(500);
      for (const [n, field] of fields.entries()) await client.hset(key, field, chunks[n]!);
      expect(await sizeOf(filter, 'queue:chunks')).toBeGreaterThan(5);
      await discover(subject.store, filter, urls('a', 3, 500));
      expect(await calls.take(filter)).toEqual(urls('a', 3, 500));
      await sweptUntil(
        filter,
        'all chunks are deleted',
        async () => (await sizeOf(filter, 'queue:chunks')) === 0,
      );
      expect(await calls.queueOf(filter)).toMatchObject({ waiting: 0, leased: 3, forgotten: 0 });
    });
  });

  describe('dropping a host on Redis before a sync has copied the queue', () => {
    const syncs = new SyncCalls(subject);
    /** Makes Redis forget that a sync has copied the queue. Returns whether a sync has copied it since. */
    const uncopied = async (filter: Filter): Promise<() => Promise<boolean>> => {
      const { key, client } = await keyOf(filter, 'meta');
      await client.hdel(key, COPIED_FIELD);
      return async () => (await client.hexists(key, COPIED_FIELD)) === 1;
    };

    it('keeps its entries in the sync, and leaves the others to the copy', async () => {
      const filter = await calls.make({});
      const all = [...urls('a', 50), ...urls('b', 3_000)];
      await discover(subject.store, filter, all);
      for (const some of [30, 600]) await calls.lease(filter, some, HELD_MS);
      const sync = await brokenCopy(subject, filter);
      const isCopied = await uncopied(filter);
      const now = await syncs.current(filter);
      const kept = async () => (await subject.store.syncs.get(now, sync.id)).kept;
      const before = await kept();
      await subject.harness.still(async () => {
        expect(await subject.store.hosts.drop(now, 'a.example', made())).toBe(50);
      });
      expect(await isCopied()).toBe(false);
      expect((await kept()) - before).toBeLessThanOrEqual(50);
      await syncs.commit(filter, sync);
      const after = await syncs.current(filter);
      expect(tally(await check(subject.store, after, all), 0)).toBe(0);
      expect(await calls.queueOf(after)).toMatchObject({ waiting: 2_400, leased: 600 });
    });

    it.each([
      ['another run of the server', (_: string, token: string) => `${'0'.repeat(40)} ${token}`],
      ['another sync', (run: string, token: string) => `${run} ${token}0`],
    ])('drops nothing if the entries were kept in %s', async (_, change) => {
      const filter = await calls.make({});
      await discover(subject.store, filter, urls('a', 3));
      const sync = await syncs.open(filter);
      const now = await syncs.current(filter);
      await uncopied(filter);
      const { keepHost } = RedisSyncs.prototype;
      const keep = jest.spyOn(RedisSyncs.prototype, 'keepHost');
      keep.mockImplementationOnce(async function (this: RedisSyncs, ...args) {
        const [run = '', token = ''] = (await keepHost.apply(this, args)).split(' ');
        return change(run, token);
      });
      await expectRefusal(drop(now, 'a'), 'STORE_UNAVAILABLE');
      keep.mockRestore();
      expect(await calls.queueOf(now)).toMatchObject({ waiting: 3 });
      expect(await drop(now, 'a')).toBe(3);
      await syncs.abandon(filter, sync);
    });
  });

  describe('the lanes of hosts on Redis after a sync', () => {
    it('are deleted if all their counts are zero', async () => {
      const syncs = new SyncCalls(subject);
      const filter = await calls.make({ maxUrls: 5 });
      await discover(
        subject.store,
        filter,
        ['a', 'b', 'c'].flatMap((host) => urls(host, 1)),
      );
      await calls.ack(filter, await calls.lease(filter, 10));
      expect(await sizeOf(filter, 'queue:lanes')).toBe(3);
      const first = await syncs.open(filter);
      const listed = Array.from({ length: 600 }, (_, n) => urls(`listed${n}`, 1)).flat();
      await syncs.keep(filter, first, [...urls('a', 2), ...listed]);
      expect(await sizeOf(filter, 'queue:lanes')).toBe(603);
      await syncs.abandon(filter, first);
      await until('lanes are deleted', async () => (await sizeOf(filter, 'queue:lanes')) === 3);
      const second = await syncs.open(filter);
      await syncs.keep(filter, second, [...urls('a', 2), ...urls('d', 1)]);
      await syncs.commit(filter, second);
      await until('lanes are deleted', async () => (await sizeOf(filter, 'queue:lanes')) === 2);
    });
  });

  describe('the list of hosts on Redis', () => {
    const names = (count: number, prefix: string): string[] =>
      Array.from({ length: count }, (_, n) => `http://${prefix}${n}.example/`);

    it('has each host that exists throughout, while other hosts come and go', async () => {
      const filter = await makeFilter(subject.store, hostOptions({}, {}, 3));
      await discover(subject.store, filter, names(300, 'stays'));
      await discover(subject.store, filter, names(700, 'goes'));
      const found: string[] = [];
      let after: string | undefined;
      for (let n = 0; n === 0 || after !== undefined; n++) {
        const { hosts, next } = await subject.store.hosts.list(filter, 40, after);
        expect(hosts.length).toBeLessThanOrEqual(40);
        expect(new Set(hosts.map(({ name }) => name)).size).toBe(hosts.length);
        found.push(...hosts.map(({ name }) => name));
        after = next;
        // The host table shrinks, and grows again.
        if (n < 7) for (let i = 100 * n; i < 100 * (n + 1); i++) await drop(filter, `goes${i}`);
        else if (n < 12) await discover(subject.store, filter, names(600, `new${n}-`));
      }
      const stays = names(300, 'stays').map((url) => new URL(url).hostname);
      const listed = new Set(found);
      expect(stays.filter((name) => !listed.has(name))).toEqual([]);
    });

    it('is continued under another run of the server', async () => {
      const filter = await calls.make({});
      await discover(subject.store, filter, names(50, 'h'));
      const { hosts, next } = await subject.store.hosts.list(filter, 20);
      const [segment, run = '', ...rest] = next!.split('-');
      const another = [segment, run.replace(/./g, (digit) => (digit === '0' ? '1' : '0')), ...rest].join('-');
      const { hosts: first } = await subject.store.hosts.list(filter, 20, another);
      expect(first).toEqual(hosts);
      expect((await subject.store.hosts.list(filter, 50, 'x')).hosts).toHaveLength(50);
    });
  });
}
