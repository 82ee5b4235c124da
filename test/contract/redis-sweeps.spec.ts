import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Filter } from '#store';
import { RedisStore } from '#store/redis';
import { Redis } from 'ioredis';
import { SWEEP_AFTER_MS } from '../../libs/store/src/sweeping.js';
import { clock } from '../support/clock.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { discover, items, made, makeFilter, remove } from './calls.js';

/** Several steps of a sweep. */
const ENTRIES = 2_000;
/** How much later the other instance begins. It is much less than a turn. */
const LATER_MS = 500;
/** A sweep of this time is followed by a longer rest than the shortest. */
const SLOW_MS = 10_000;
/** No rest is longer. */
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
  afterAll(async () => {
    client.disconnect();
    await Promise.all(stores.map((store) => store.close()));
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
  /** Looks past the stores, because a description makes its instance sweep later. */
  const marks = async ({ generation }: Filter) =>
    (await client.hlen((await client.keys(`unseen:{${generation}.*:marks:new`))[0]!)) - 1;
  const scripts = async () => {
    const calls = (await client.info('commandstats')).matchAll(/cmdstat_(?:eval|evalsha):calls=(\d+)/g);
    return [...calls].reduce((sum, [, count]) => sum + Number(count), 0);
  };

  it('leave a queue to the one that began, until that has been silent for its turn', async () => {
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
    await until('the other has asked for its turn', async () => (await scripts()) > before);
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
    await until('the marks are gone', async () => (await marks(filter)) === 0);
    await remove(store, filter, ['item 2']);
    const before = await scripts();
    clock.advance(SWEEP_AFTER_MS);
    await until('the store has asked for its turn', async () => (await scripts()) > before);
    expect(await marks(filter)).toBe(1);
    clock.advance(LONGEST_REST_MS);
    await until('the marks are gone', async () => (await marks(filter)) === 0);
  });

  it('are begun by an instance that describes the set, if the one that removed has ended', async () => {
    const ended = await open();
    const filter = await filled(ended);
    await remove(ended, filter, ['item 1']);
    await ended.close();
    const store = await open();
    const { queue } = await store.describe(await store.open(filter.name, filter.kind));
    expect(queue).toMatchObject({ waiting: ENTRIES, forgotten: 1 });
    clock.advance(SWEEP_AFTER_MS);
    await until('the marks are gone', async () => (await marks(filter)) === 0);
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
