import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { StoreError } from '#store';
import { RedisStore } from '#store/redis';
import { add, check, filterSpec, items, keyed, makeFilter } from '../contract/calls.js';
import { call, startApp } from '../support/app.js';
import { limitedUser } from '../support/redis-acl.js';
import { startCluster, type RedisCluster } from '../support/redis-cluster.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

const TIMEOUT_MS = 10_000;
const { username, password, args } = limitedUser();

/** test/contract/redis-cluster-moving.spec.ts runs the whole contract with this user. */
describe('the documented Redis user for the service', () => {
  let server: RedisServer;
  let client: Redis;
  const stores: RedisStore[] = [];

  beforeAll(async () => {
    server = await startRedis({ args });
    client = new Redis(server.port, '127.0.0.1');
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    client.disconnect();
    await server.stop();
  });

  async function open(url: string): Promise<RedisStore> {
    const store = await RedisStore.open({ url, timeoutMs: TIMEOUT_MS });
    stores.push(store);
    return store;
  }

  const url = (secret = password) => `redis://${username}:${secret}@127.0.0.1:${server.port}/1`;

  it('can do everything, also in another database, and can access no other Redis key', async () => {
    const store = await open(url());
    const filter = await makeFilter(store);
    await add(store, filter, items(10));
    expect(await check(store, filter, items(10))).toEqual(items(10).map(() => 1));
    const { ready, warnings } = await store.readiness();
    expect([ready, warnings]).toEqual([true, [expect.stringContaining('keeps nothing on disk')]]);
    const user = new Redis(url());
    await expect(user.get('other')).rejects.toThrow('NOPERM');
    await expect(user.flushall()).rejects.toThrow('NOPERM');
    user.disconnect();
  });

  it.each([
    ['+evalsha', 'may not run evalsha'],
    ['+unlink', 'may not run unlink'],
    ['+getrange', 'may not run '],
    ['+time', 'may not run '],
  ])('without %s: STORE_UNAVAILABLE, saying that a permission is missing', async (right, says) => {
    const store = await open(url());
    const filter = await makeFilter(store);
    await client.call('ACL', 'SETUSER', username, right.replace('+', '-'));
    try {
      const failed =
        (await settledError(add(store, filter, items(10)))) ??
        (await settledError(store.drop(filter.name, filter.kind, keyed())));
      expect([failed?.code, failed?.message]).toEqual([
        'STORE_UNAVAILABLE',
        expect.stringContaining(`Redis denies permission: its user ${says}`),
      ]);
    } finally {
      await client.call('ACL', 'SETUSER', username, right);
    }
  });

  it('without config|get: everything works, with fewer warnings', async () => {
    await client.call('ACL', 'SETUSER', username, '-config|get');
    try {
      const store = await open(url());
      expect((await store.readiness()).warnings).toEqual([
        'Redis keeps no append-only file: a crash loses all changes since its last snapshot; set appendonly yes',
      ]);
    } finally {
      await client.call('ACL', 'SETUSER', username, '+config|get');
    }
  });

  it('can keep rate limits', async () => {
    const app = await startApp({ REDIS_URL: url(), RATE_LIMIT: '1' });
    try {
      const answers = await Promise.all(Array.from({ length: 20 }, () => call(app, 'GET', '/v1/filters')));
      const statuses = new Set(answers.map(({ status }) => status));
      expect([...statuses].sort()).toEqual([200, 429]);
    } finally {
      await app.close();
    }
  });

  it('with a wrong password: 503, readiness says so, and no password is shown', async () => {
    const app = await startApp({ REDIS_URL: url('wrong-and-secret'), REDIS_TIMEOUT_MS: '1000' });
    try {
      const ready = await call(app, 'GET', '/readyz');
      expect([ready.status, JSON.stringify(ready.body)]).toEqual([
        503,
        expect.stringContaining('Redis refuses the credentials'),
      ]);
      const refused = await call(app, 'GET', '/v1/filters');
      expect([refused.status, JSON.stringify(refused.body)]).toEqual([
        503,
        expect.not.stringContaining('wrong-and-secret'),
      ]);
    } finally {
      await app.close();
    }
  });

  it('logged errors contain no password and no items', async () => {
    const store = await open(url('wrong-and-secret'));
    const failed = await settledError(store.create(filterSpec(), keyed()));
    expect(failed?.code).toBe('STORE_UNAVAILABLE');
    for (let error: unknown = failed; error instanceof Error; error = error.cause) {
      const shown = JSON.stringify([error.message, Object.entries(error)]);
      expect(shown).not.toContain('wrong-and-secret');
    }
  });
});

describe('a cluster’s credentials', () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startCluster({ args });
  });
  afterAll(() => cluster.stop());

  it('that are wrong: not ready, and readiness says why', async () => {
    const options = { clusterNodes: cluster.nodes, username, password: 'wrong', timeoutMs: TIMEOUT_MS };
    const store = await RedisStore.open(options);
    try {
      expect(await store.readiness()).toMatchObject({
        ready: false,
        reason: 'Redis refuses the credentials',
      });
    } finally {
      await store.close();
    }
  });
});

async function settledError(call: Promise<unknown>): Promise<StoreError | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    return error as StoreError;
  }
}
