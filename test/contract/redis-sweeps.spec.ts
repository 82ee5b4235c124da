import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Filter } from '#store';
import { RedisStore } from '#store/redis';
import { Redis } from 'ioredis';
import { SWEEP_AFTER_MS } from '../../libs/store/src/sweeping.js';
import { clock } from '../support/clock.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { discover, items, keyed, made, makeFilter, remove } from './calls.js';
import { HELD_MS, hostOptions, urls } from './host-calls.js';

/** Several of a sweep's steps. */
const ENTRIES = 2_000;
/** How much later the other instance begins: less than half a turn, so that a busy machine makes no difference. */
const LATER_MS = 4_000;
/** A sweep that takes this long is followed by more than the shortest pause. */
const SLOW_MS = 10_000;
/** The longest pause after a sweep. */
const LONGEST_REST_MS = 3_600_000;

describe('sweeps of several instances on one Redis', () => {
  let server: RedisServer;
  let proxy: TcpProxy;
  let client: Redis;
  const stores: RedisStore[] = [];
  beforeAll(async () => {
    server = await startRedis();
    proxy = await TcpProxy.start(server.port);
    client = new Redis(server.port, '127.0.0.1');
  });
  afterEach(() => Promise.all(stores.splice(0).map((store) => store.close())));
  afterAll(async () => {
    client.disconnect();
    await proxy.stop();
    await server.stop();
  });

  const open = async (url = server.url): Promise<RedisStore> => {
    const store = await RedisStore.open({ url, timeoutMs: 10_000, clock });
    stores.push(store);
    return store;
  };
  const filled = async (store: RedisStore): Promise<Filter> => {
    const filter = await makeFilter(store, { kind: 'visited-set', capacity: 10_000, errorRate: 1e-9 });
    await discover(store, filter, items(ENTRIES));
    return filter;
  };
  const metaOf = async ({ generation }: Filter) => (await client.keys(`unseen:{${generation}.*:meta`))[0]!;
  /** Reads Redis directly, because a description makes its instance sweep later. */
  const marks = async ({ generation }: Filter) => {
    const keys = await client.keys(`unseen:{${generation}.*:marks:*`);
    const sizes = await Promise.all(keys.map((key) => client.hlen(key)));
    return sizes.reduce((sum, size) => sum + size - 1, 0);
  };
  /** How many scripts have run. A script that the server doesn't know yet is sent again. */
  const scripts = async () => {
    const calls = (await client.info('commandstats')).matchAll(
      /cmdstat_(?:eval|evalsha):calls=(\d+).*failed_calls=(\d+)/g,
    );
    return [...calls].reduce((sum, [, count, failed]) => sum + Number(count) - Number(failed), 0);
  };

  /** Describes the set until it is swept. Each description makes a step of the sweep. */
  const swept = async (store: RedisStore, filter: Filter): Promise<void> => {
    for (let turn = 0; turn < 500; turn++) {
      if ((await marks(filter)) === 0) return;
      await store.describe(filter);
    }
    throw new Error('the queue is not swept');
  };

  /** Waits until a store that has run `before` scripts asks for its turn, and then until the store knows the answer. */
  const refused = async (store: RedisStore, { name, kind }: Filter, before: number): Promise<void> => {
    await until('the store has asked for its turn', async () => (await scripts()) > before);
    // Answers come in order, so this one comes after the other.
    await store.open(name, kind, { fresh: true });
    await setImmediate();
  };

  it('leave a queue to the instance that began, until it has been silent for its turn', async () => {
    const dying = await open(`redis://127.0.0.1:${proxy.port}`);
    const filter = await filled(dying);
    const other = await open();
    await remove(dying, filter, ['item 1']);
    clock.advance(LATER_MS);
    await remove(other, await other.open(filter.name, filter.kind), ['item 2']);
    const meta = await metaOf(filter);
    const cut = new Promise<void>((resolve) => proxy.cutAfter('request', 0, 3, resolve));
    clock.advance(SWEEP_AFTER_MS - LATER_MS);
    await cut;
    proxy.interrupt();
    const place = await client.hget(meta, 'swept');
    expect(place).toMatch(/^chunks /);
    const before = await scripts();
    clock.advance(LATER_MS);
    await refused(other, filter, before);
    expect(await client.hget(meta, 'swept')).toBe(place);
    clock.advance(10_000);
    await until('the other has swept', async () => (await client.hget(meta, 'swept')) === '');
    expect((await other.queue.lease(filter, 1, 1, made())).length).toBe(1);
    proxy.restore();
  });

  it('rest in proportion to the time that the last one took', async () => {
    const store = await open(`redis://127.0.0.1:${proxy.port}`);
    const filter = await filled(store);
    await remove(store, filter, ['item 1']);
    proxy.actAfter(3, async () => clock.advance(SLOW_MS));
    clock.advance(SWEEP_AFTER_MS);
    await swept(store, filter);
    await remove(store, filter, ['item 2']);
    const before = await scripts();
    clock.advance(SWEEP_AFTER_MS);
    await refused(store, filter, before);
    expect([await marks(filter), await client.hget(await metaOf(filter), 'swept')]).toEqual([1, '']);
    clock.advance(LONGEST_REST_MS);
    await swept(store, filter);
  });

  it('are begun by an instance that describes the set, if the instance that removed has ended', async () => {
    const ended = await open();
    const filter = await filled(ended);
    await remove(ended, filter, ['item 1']);
    await ended.close();
    const store = await open();
    const { queue } = await store.describe(await store.open(filter.name, filter.kind));
    expect(queue).toMatchObject({ waiting: ENTRIES, forgotten: 1 });
    clock.advance(SWEEP_AFTER_MS);
    await swept(store, filter);
  });

  it('are begun by an instance that describes the set, if the instance that dropped a host has ended', async () => {
    const ended = await open();
    const filter = await makeFilter(ended, hostOptions({}, { maxAttempts: 1 }));
    const lease = (store: RedisStore, max: number) => store.queue.lease(filter, max, HELD_MS, keyed());
    await discover(ended, filter, urls('a', 4));
    const ids = (await lease(ended, 3)).map(({ id }) => id);
    await ended.queue.release(filter, ids.slice(0, 2), made());
    await discover(ended, filter, urls('b', 1));
    await ended.hosts.drop(filter, 'a.example', keyed());
    await ended.close();
    const store = await open();
    const set = await store.open(filter.name, filter.kind);
    const described = async () => (await store.describe(set)).queue;
    expect(await described()).toMatchObject({ waiting: 1, leased: 0, dead: 0, forgotten: 0 });
    const [chunks, leases, letters, lanes] = await Promise.all(
      ['chunks', 'leases', 'dead', 'lanes'].map(
        async (name) => (await client.keys(`unseen:{${filter.generation}.*:queue:${name}`))[0]!,
      ),
    );
    /** Each key's members, except the one that keeps it from being empty. */
    const stored = async () => [
      (await client.hlen(chunks!)) - 1,
      (await client.hlen(leases!)) - 1,
      (await client.zcard(letters!)) - 1,
    ];
    expect(await stored()).toEqual([1, 2, 2]);
    clock.advance(SWEEP_AFTER_MS);
    for (let turn = 0; turn < 500 && (await stored()).join() !== '1,0,0'; turn++) await described();
    expect(await stored()).toEqual([1, 0, 0]);
    // A lease deletes the lanes that count nothing.
    clock.advance(2 * SWEEP_AFTER_MS);
    expect(await lease(store, 10)).toHaveLength(1);
    expect(await client.hlen(lanes!)).toBe(2);
    expect(await described()).toMatchObject({ waiting: 0, leased: 1, dead: 0, forgotten: 0 });
  });

  it('cost nothing while no item is forgotten', async () => {
    const store = await open();
    const filter = await filled(store);
    await store.describe(filter);
    const before = await scripts();
    clock.advance(10 * SWEEP_AFTER_MS);
    await store.describe(filter);
    expect((await scripts()) - before).toBeLessThanOrEqual(1);
  });
});
