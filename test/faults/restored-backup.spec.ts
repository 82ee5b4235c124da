import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Filter } from '#store';
import { RedisStore } from '#store/redis';
import {
  add,
  check,
  count,
  discover,
  expectRefusal,
  expectStale,
  items,
  keyed,
  made,
  makeFilter,
  remove,
} from '../contract/calls.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';

let server: RedisServer;
/** Stays open throughout, like a service instance. */
let store: RedisStore;

beforeAll(async () => {
  server = await startRedis();
  store = await RedisStore.open({ url: server.url, timeoutMs: 10_000 });
});
afterAll(async () => {
  await store.close();
  await server.stop();
});

/** Makes the changes of `since`, then undoes them on Redis by a restart with an older RDB file. */
async function undone<T>(since: () => Promise<T>): Promise<T> {
  const own = new Redis(server.port, '127.0.0.1');
  await own.save();
  own.disconnect();
  const file = join(server.dir, 'dump.rdb');
  await copyFile(file, `${file}.backup`);
  const result = await since();
  await server.kill('SIGKILL');
  await copyFile(`${file}.backup`, file);
  await server.restart();
  await until('the store is connected', async () => (await store.readiness()).ready);
  return result;
}

const visitedSet = () => makeFilter(store, { kind: 'visited-set', errorRate: 1e-6 });

/** Every verb on an open visited set. */
const calls = (filter: Filter): Promise<unknown>[] => [
  check(store, filter, ['a']),
  count(store, filter, ['a']),
  discover(store, filter, ['a']),
  remove(store, filter, ['a'], keyed()),
  store.queue.lease(filter, 1, 1_000, made()),
  store.describe(filter),
];

describe('Redis with an older backup, under a running instance', () => {
  it('from before a filter existed: FILTER_NOT_FOUND, never "absent"', async () => {
    const filter = await undone(async () => {
      const filter = await visitedSet();
      await discover(store, filter, ['a']);
      return filter;
    });
    for (const call of calls(filter)) await expectRefusal(call, 'FILTER_NOT_FOUND');
    await expectRefusal(store.open(filter.name, filter.kind, { fresh: true }), 'FILTER_NOT_FOUND');
  });

  it('with a generation from before a clear: stale handles are refused, and the old items are there', async () => {
    const old = await visitedSet();
    await discover(store, old, ['old']);
    const cleared = await undone(async () => {
      const cleared = await store.clear(old.name, old.kind, made());
      await discover(store, cleared, ['a']);
      return cleared;
    });
    for (const call of calls(cleared)) await expectStale(call);
    const current = await store.open(old.name, old.kind, { fresh: true });
    expect(current.generation).toBe(old.generation);
    expect(await check(store, current, ['old', 'a'])).toEqual([1, 0]);
  });

  it('with a filter that was dropped since: it exists again', async () => {
    const filter = await visitedSet();
    await discover(store, filter, ['old']);
    await undone(() => store.drop(filter.name, filter.kind, made()));
    const current = await store.open(filter.name, filter.kind);
    expect(await check(store, current, ['old'])).toEqual([1]);
  });

  it('of the same generation can’t be detected: items added since are unseen, and their records are gone', async () => {
    const filter = await makeFilter(store, { semantics: 'multiset', errorRate: 1e-6 });
    const operation = keyed();
    await add(store, filter, items(10, 'before'));
    await undone(() => add(store, filter, items(10, 'since'), operation));
    expect(await check(store, filter, items(10, 'before'))).toEqual(items(10).map(() => 1));
    expect(await check(store, filter, items(10, 'since'))).toEqual(items(10).map(() => 0));
    expect(await add(store, filter, items(10, 'since'), operation)).toEqual(items(10).map(() => 1));
    expect(await count(store, filter, items(10, 'since'))).toEqual(items(10).map(() => 1));
  });
});
