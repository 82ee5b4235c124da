import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { filterBytes } from '#bloom';
import { StoreError, type Quota } from '#store';
import { RedisStore } from '#store/redis';
import type { CatalogueEntry } from '../../libs/store/src/redis/layout/entry.js';
import { CATALOGUE } from '../../libs/store/src/redis/layout/keys.js';
import { add, expectRefusal, filterSpec, made } from '../contract/calls.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { TcpProxy, type Direction } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';

const TIMEOUT_MS = 10_000;
/** Time for a creation that must fail instead of waiting for the connection to return. */
const SHORT_MS = 15;
const CUTS = 24;

let server: RedisServer;
let redis: Redis;
/** Connected without a proxy. */
let direct: RedisStore;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  direct = await RedisStore.open({ url: server.url, timeoutMs: TIMEOUT_MS });
});
afterAll(async () => {
  await direct.close();
  redis.disconnect();
  await server.stop();
});

const tenant = (): string => `t${randomUUID()}-`;
const of = (prefix: string, name: string) => filterSpec({ kind: 'visited-set', name: prefix + name });
const BYTES = filterBytes(of('', '').geometry);

/** A store behind a proxy that has created one filter, and the number of bytes that pass when it creates another. */
async function behindProxy(): Promise<{
  proxy: TcpProxy;
  store: RedisStore;
  passed: Record<Direction, number>;
}> {
  const proxy = await TcpProxy.start(server.port);
  const store = await RedisStore.open({ url: `redis://127.0.0.1:${proxy.port}`, timeoutMs: TIMEOUT_MS });
  await store.create(of(tenant(), 'a'), made());
  const count = proxy.count();
  const prefix = tenant();
  await store.create(of(prefix, 'a'), made(), { prefix, maxFilters: 1 });
  return { proxy, store, passed: count() };
}

const cellsKept = async (): Promise<number> => (await redis.keys('unseen:*:cells')).length;

/** The catalogue entries whose names have a prefix. */
async function entries(prefix = ''): Promise<CatalogueEntry[]> {
  const found = Object.entries(await redis.hgetall(CATALOGUE.filters));
  return found
    .filter(([name]) => name !== '' && name.startsWith(prefix))
    .map(([, raw]) => JSON.parse(raw) as CatalogueEntry);
}

/** Expects that all cells belong to catalogue entries, and that the usage is their sum. */
async function expectNothingAstray(): Promise<void> {
  const all = await entries();
  expect(await cellsKept()).toBe(all.reduce((sum, { tags }) => sum + tags.length, 0));
  const counted = Object.keys(await redis.hgetall(CATALOGUE.usage)).filter((prefix) => prefix !== '');
  expect(counted.length).toBeGreaterThan(0);
  const expected = counted.map((prefix) => {
    const own = all.filter(({ name }) => name.startsWith(prefix));
    const bytes = own.reduce((sum, { geometry }) => sum + filterBytes(geometry), 0);
    return [prefix, { filters: own.length, bytes }];
  });
  const usage = await direct.usage(counted);
  expect(counted.map((prefix, i) => [prefix, usage[i]])).toEqual(expected);
}

describe('a creation whose connection is cut', () => {
  it('after any byte: it succeeds or leaves nothing that counts, and the usage matches the catalogue', async () => {
    const { proxy, store, passed } = await behindProxy();
    try {
      const outcomes = { done: 0, failed: 0 };
      for (const direction of ['request', 'reply'] as const) {
        for (let cut = 1; cut <= CUTS; cut++) {
          await until('the store is connected', async () => (await store.readiness()).ready);
          const prefix = tenant();
          const quota: Quota = { prefix, maxFilters: 1 };
          proxy.cutAfter(direction, Math.round((passed[direction] * cut) / CUTS) - 1);
          const operation = { ...made(), deadline: Date.now() + SHORT_MS };
          await store.create(of(prefix, 'a'), operation, quota).catch((error: unknown) => {
            if (!(error instanceof StoreError) || error.code !== 'STORE_UNAVAILABLE') throw error;
          });
          proxy.disarm();
          if ((await entries(prefix)).some(({ state }) => state === 'ready')) {
            outcomes.done++;
            const filter = await direct.open(`${prefix}a`, 'visited-set', { fresh: true });
            expect(await add(direct, filter, ['item'])).toEqual([1]);
            continue;
          }
          outcomes.failed++;
          // An undone creation is stale immediately. Others become stale only after a time that this test doesn't wait.
          await until('the creation is stale', async () =>
            (await entries(prefix)).every(({ since }) => since === 0),
          );
          expect((await direct.create(of(prefix, 'b'), made(), quota)).created).toBe(true);
          expect(await direct.usage([prefix])).toEqual([{ filters: 1, bytes: BYTES }]);
        }
      }
      await expectNothingAstray();
      expect(outcomes.failed).toBeGreaterThan(CUTS / 2);
      console.log(`cut after a byte, ${2 * CUTS} times: ${JSON.stringify(outcomes)}`);
    } finally {
      await store.close();
      await proxy.stop();
    }
  });

  it('permanently: it counts while it may continue, and is freed for the next creation once it is stale', async () => {
    const { proxy, store, passed } = await behindProxy();
    const prefix = tenant();
    const quota: Quota = { prefix, maxFilters: 1, maxBytes: BYTES };
    const before = await cellsKept();
    proxy.cutAfter('request', passed.request - 1);
    const failing = expectRefusal(store.create(of(prefix, 'a'), made(), quota), 'STORE_UNAVAILABLE');
    await until('the connection is cut', async () => proxy.hasCut);
    await proxy.stop();
    await store.close();
    await failing;

    const [dead] = await entries(prefix);
    expect(dead?.state).toBe('creating');
    expect(await cellsKept()).toBe(before + 1);
    await expectRefusal(direct.create(of(prefix, 'b'), made(), quota), 'QUOTA_EXCEEDED');
    await redis.hset(CATALOGUE.filters, `${prefix}a`, JSON.stringify({ ...dead, since: 0 }));
    expect((await direct.create(of(prefix, 'b'), made(), quota)).created).toBe(true);
    expect((await entries(prefix)).map(({ name }) => name)).toEqual([`${prefix}b`]);
    expect(await direct.usage([prefix])).toEqual([{ filters: 1, bytes: BYTES }]);
    await expectNothingAstray();
  });

  it('never removes a filter that was published after its name was read', async () => {
    const prefix = tenant();
    const quota: Quota = { prefix, maxFilters: 1 };
    const { filter } = await direct.create(of(prefix, 'a'), made(), quota);
    expect(await add(direct, filter, ['item'])).toEqual([1]);
    const [entry] = await entries(prefix);
    await redis.hset(CATALOGUE.filters, `${prefix}a`, JSON.stringify({ ...entry, since: 0 }));
    await redis.zadd(CATALOGUE.unfinished, 0, `${prefix}a`);
    await expectRefusal(direct.create(of(prefix, 'b'), made(), quota), 'QUOTA_EXCEEDED');
    const fresh = await direct.open(`${prefix}a`, 'visited-set', { fresh: true });
    expect(await add(direct, fresh, ['item'])).toEqual([0]);
  });
});
