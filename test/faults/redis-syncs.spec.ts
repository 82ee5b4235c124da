import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { positionsOf } from '#bloom';
import { Kept, StoreError, type Filter, type Operation, type Store, type Sync } from '#store';
import { RedisStore } from '#store/redis';
import type { CatalogueEntry } from '../../libs/store/src/redis/layout/entry.js';
import { CATALOGUE, owedKey, segmentKeys } from '../../libs/store/src/redis/layout/keys.js';
import { COPIED_FIELD } from '../../libs/store/src/redis/scripts/queue-state.js';
import {
  add,
  check,
  deadline,
  discover,
  expectRefusal,
  expectStale,
  type FilterOptions,
  filterSpec,
  items,
  keyed,
  made,
  makeFilter,
  remove,
  SEGMENTED,
} from '../contract/calls.js';
import { hostOptions, urls } from '../contract/host-calls.js';
import { syncPlan } from '../contract/sync-calls.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';

const TIMEOUT_MS = 10_000;
const SHORT_MS = 300;
const CUTS = 16;
const HELD = items(60);
const LISTED = HELD.slice(0, 40);

let server: RedisServer;
let redis: Redis;
/** Two service instances. */
let one: RedisStore;
let other: RedisStore;

beforeAll(async () => {
  server = await startRedis({ args: ['--maxmemory-policy', 'noeviction'] });
  redis = new Redis(server.url);
  one = await RedisStore.open({ url: server.url, timeoutMs: TIMEOUT_MS });
  other = await RedisStore.open({ url: server.url, timeoutMs: TIMEOUT_MS });
});
afterAll(async () => {
  await one.close();
  await other.close();
  redis.disconnect();
  await server.stop();
});

const all = (keys: readonly unknown[], answer: number): number[] => keys.map(() => answer);

/** A visited set with four segments that contains HELD. */
async function make(options: FilterOptions = {}): Promise<Filter> {
  const spec = filterSpec({
    ...{
      name: `s-${randomUUID()}`,
      kind: 'visited-set',
      errorRate: 1e-7,
      capacity: 1_000,
      growsTo: Infinity,
      ...options,
    },
    segmentation: SEGMENTED,
  });
  const { filter } = await one.create(spec, made());
  await add(one, filter, HELD);
  return filter;
}

const current = (store: Store, { name, kind }: Filter) => store.open(name, kind, { fresh: true });

async function open(store: Store, filter: Filter, operation: Operation = made()): Promise<Sync> {
  const now = await current(store, filter);
  return store.syncs.open(now, syncPlan(now, { capacity: 500 }), operation);
}

async function keep(store: Store, filter: Filter, id: string, keys: readonly string[]): Promise<number[]> {
  const now = await current(store, filter);
  return [...(await store.syncs.keep(now, id, positionsOf(keys, now.seed, now.geometry), made()))];
}

const commit = async (store: Store, filter: Filter, id: string) =>
  store.syncs.commit(await current(store, filter), id, 1, deadline());

const keysOf = async ({ generation }: Filter): Promise<string[]> => redis.keys(`unseen:{${generation}*`);

const entryOf = async ({ name }: Filter): Promise<CatalogueEntry> =>
  JSON.parse((await redis.hget(CATALOGUE.filters, name)) ?? '{}') as CatalogueEntry;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

/**
 * Makes a filter look as if its open sync still had to copy the queue. The returned function counts the entries owed to
 * that copy.
 */
async function uncopied(filter: Filter): Promise<() => Promise<number>> {
  const { tags, sync } = await entryOf(filter);
  const keys = tags.map((tag) => segmentKeys(tag));
  for (const { meta } of keys) await redis.hdel(meta, COPIED_FIELD);
  return async () =>
    sum(await Promise.all(keys.map((one) => redis.zcount(owedKey(one, sync!.base), 1, '+inf'))));
}

const change = async (filter: Filter, entry: CatalogueEntry) =>
  redis.hset(CATALOGUE.filters, filter.name, JSON.stringify(entry));

describe('an instance that doesn’t know about a sync', () => {
  it('writes as before: added items are kept, removed items are gone, and the commit makes its handle stale', async () => {
    const filter = await make();
    const theirs = await other.open(filter.name, filter.kind);
    const { id } = await open(one, filter);
    expect(await add(other, theirs, ['theirs', 'item 0'])).toEqual([1, 0]);
    expect(await remove(other, theirs, ['item 1', 'absent'])).toEqual([1, 0]);
    expect(await keep(one, filter, id, [...LISTED, 'absent'])).toEqual([
      ...[Kept.Present, Kept.Forgotten, ...all(LISTED.slice(2), Kept.Present)],
      Kept.Forgotten,
    ]);
    expect(await check(other, theirs, HELD)).toEqual([1, 0, ...all(HELD.slice(2), 1)]);
    await commit(one, filter, id);
    await expectStale(add(other, theirs, ['late']));
    await expectStale(remove(other, theirs, ['theirs']));
    const now = await current(other, filter);
    expect(await check(other, now, ['theirs', 'item 0', 'item 1', 'item 39', 'item 40', 'late'])).toEqual([
      ...[1, 1, 0, 1, 0, 0],
    ]);
  });

  it('continues when the sync is abandoned, and its writes aren’t lost', async () => {
    const filter = await make();
    const theirs = await other.open(filter.name, filter.kind);
    const { id } = await open(one, filter);
    expect(await add(other, theirs, ['theirs'])).toEqual([1]);
    await one.syncs.abandon(await current(one, filter), id, deadline());
    expect(await add(other, theirs, ['theirs', 'later'])).toEqual([0, 1]);
    expect(await check(one, await current(one, filter), [...HELD, 'theirs', 'later'])).toEqual(
      all(items(62), 1),
    );
  });
});

describe('an instance whose connection is cut permanently mid-sync', () => {
  it('after any byte: another instance continues, and the set has its old or its new state', async () => {
    const ends: Record<string, number> = {};
    /** Opens a sync, sends the list and commits, from an instance that is cut off permanently after `bytes` bytes. */
    const cutOff = async (filter: Filter, opening: Operation, bytes: number): Promise<number> => {
      const proxy = await TcpProxy.start(server.port);
      // A call that isn't cut must not time out on a busy machine.
      const timeoutMs = bytes > 0 ? SHORT_MS : TIMEOUT_MS;
      const store = await RedisStore.open({ url: `redis://127.0.0.1:${proxy.port}`, timeoutMs });
      await until('the store is connected', async () => (await store.readiness()).ready);
      const count = proxy.count();
      if (bytes > 0) proxy.cutAfter('request', bytes);
      const work = (async () => {
        const { id } = await open(store, filter, opening);
        await keep(store, filter, id, LISTED);
        await commit(store, filter, id);
      })().catch((error: unknown) => {
        if (!(error instanceof StoreError) || error.code !== 'STORE_UNAVAILABLE') throw error;
      });
      let over = false;
      void work.finally(() => (over = true)).catch(() => undefined);
      await until('the connection is cut, or the call has ended', () =>
        Promise.resolve(over || (bytes > 0 && proxy.hasCut)),
      );
      await proxy.stop();
      await work;
      await store.close();
      return count().request;
    };
    const example = await make();
    const kept = (await keysOf(example)).length;
    // The first sync sends the scripts too.
    await cutOff(await make(), keyed(), 0);
    const whole = await cutOff(example, keyed(), 0);
    for (let cut = 1; cut < CUTS; cut++) {
      const filter = await make();
      const opening = keyed();
      await cutOff(filter, { ...opening, deadline: Date.now() + SHORT_MS }, Math.round((whole * cut) / CUTS));
      const { sync } = await entryOf(filter);
      const stage = sync?.stage ?? 'none';
      ends[stage] = (ends[stage] ?? 0) + 1;
      // Repeating the opening returns the current state of the sync, on any instance.
      const { id, state } = await open(one, filter, opening);
      if (state === 'open') await keep(one, filter, id, LISTED);
      expect(await commit(one, filter, id)).toMatchObject({ state: 'committed' });
      expect(await check(one, await current(one, filter), HELD)).toEqual([
        ...all(LISTED, 1),
        ...all(HELD.slice(40), 0),
      ]);
      await other.syncs.tend();
      expect((await keysOf(filter)).length).toBe(kept);
    }
    console.log(`died while the sync was: ${JSON.stringify(ends)}`);
    // The cuts have hit more than one stage.
    expect(Object.keys(ends).length).toBeGreaterThan(1);
  });

  it('between a commit’s segments: the next caller finishes it first', async () => {
    const filter = await make();
    const theirs = await other.open(filter.name, filter.kind);
    const { id } = await open(one, filter);
    await keep(one, filter, id, LISTED);
    expect(await add(other, theirs, ['theirs'])).toEqual([1]);
    // The state after an instance has announced a commit, committed one segment and died.
    const entry = await entryOf(filter);
    const ended = await one.syncs.get(await current(one, filter), id);
    const { sync, tags } = entry;
    if (!sync) throw new Error('the entry has no sync');
    await change(filter, {
      ...entry,
      sync: { ...sync, stage: 'committing', ended: { ...ended, state: 'committed' } },
    });
    const meta = `unseen:{${tags[0] ?? ''}}:meta`;
    const token = `${entry.generation}.${sync.base}`;
    for (const [name, value] of Object.entries(await redis.hgetall(meta))) {
      if (!name.startsWith('s:')) continue;
      if (!/^s:(kept|listed|new|copied|full)$/.test(name)) await redis.hset(meta, name.slice(2), value);
      await redis.hdel(meta, name);
    }
    await redis.hset(meta, 'generation', token);
    const calls = HELD.map((item) => check(other, theirs, [item]).catch((error: unknown) => error));
    for (const outcome of await Promise.all(calls)) {
      if (!Array.isArray(outcome)) expect(outcome).toMatchObject({ name: 'StaleFilterError' });
    }
    expect((await entryOf(filter)).sync).toBeUndefined();
    const now = await current(other, filter);
    expect(await check(other, now, [...HELD, 'theirs'])).toEqual([
      ...all(LISTED, 1),
      ...all(HELD.slice(40), 0),
      1,
    ]);
    expect(await one.syncs.get(await current(one, filter), id)).toMatchObject({ state: 'committed' });
  });

  it('while it opened: the next opening abandons it once it is stale', async () => {
    const filter = await make();
    await open(one, filter);
    const entry = await entryOf(filter);
    if (!entry.sync) throw new Error('the entry has no sync');
    await change(filter, { ...entry, sync: { ...entry.sync, stage: 'opening' } });
    await expectRefusal(open(other, filter), 'SYNC_EXISTS');
    await change(filter, { ...entry, sync: { ...entry.sync, stage: 'opening', since: 0 } });
    const { id } = await open(other, filter);
    await keep(other, filter, id, LISTED);
    await commit(other, filter, id);
    expect(await check(one, await current(one, filter), HELD)).toEqual([
      ...all(LISTED, 1),
      ...all(HELD.slice(40), 0),
    ]);
  });
});

describe('a sync of which Redis has lost a part', () => {
  it('is abandoned by the next list, and nothing else is lost', async () => {
    const filter = await make();
    const { id } = await open(one, filter);
    await keep(one, filter, id, LISTED);
    // The state after a failover that lost the step in which a segment joined.
    const { tags, generation } = await entryOf(filter);
    for (const tag of tags) {
      const meta = `unseen:{${tag}}:meta`;
      const names = Object.keys(await redis.hgetall(meta)).filter((name) => name.startsWith('s:'));
      await redis.hdel(meta, ...names);
      await redis.hset(meta, 'generation', generation);
    }
    expect(await add(other, await current(other, filter), ['later'])).toEqual([1]);
    await expectRefusal(keep(one, filter, id, LISTED), 'SYNC_ENDED');
    expect(await one.syncs.get(await current(one, filter), id)).toMatchObject({ state: 'abandoned' });
    expect(await check(one, await current(one, filter), [...HELD, 'later'])).toEqual(all(items(61), 1));
    expect(await open(one, filter)).toMatchObject({ state: 'open' });
  });

  it('doesn’t prevent other idle syncs from being abandoned', async () => {
    const hasty = await RedisStore.open({ url: server.url, timeoutMs: TIMEOUT_MS, syncIdleMs: 1 });
    try {
      const damaged = await make();
      await open(one, damaged);
      const filter = await make();
      const { id } = await open(one, filter);
      await redis.del(...(await keysOf(damaged)).filter((key) => key.endsWith(':cells')));
      await until('the sync is abandoned', async () => {
        await expectRefusal(hasty.syncs.tend(), 'STORE_DATA_LOST');
        return (await entryOf(filter)).sync === undefined;
      });
      expect(await one.syncs.get(await current(one, filter), id)).toMatchObject({ state: 'abandoned' });
      await one.drop(damaged.name, damaged.kind, made());
    } finally {
      await hasty.close();
    }
  });
});

async function atLimit<T>(run: () => Promise<T>): Promise<T> {
  const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
  await redis.config('SET', 'maxmemory', String(used - 1_000_000));
  try {
    return await run();
  } finally {
    await redis.config('SET', 'maxmemory', '0');
  }
}

describe('a host that is dropped before a sync has copied the queue', () => {
  const QUEUED = urls('a', 20);
  const drop = async (filter: Filter): Promise<number> =>
    other.hosts.drop(await current(other, filter), 'a.example', made());
  const queued = async (): Promise<Filter> => {
    const filter = await makeFilter(one, hostOptions({}));
    await discover(one, filter, QUEUED);
    await open(one, filter);
    await uncopied(filter);
    return filter;
  };

  it('is dropped at once while the sync is still being opened', async () => {
    const filter = await queued();
    const entry = await entryOf(filter);
    const { sync } = entry;
    await change(filter, { ...entry, sync: { ...sync!, stage: 'opening' } });
    expect(await drop(filter)).toBe(QUEUED.length);
    await change(filter, entry);
    expect(await commit(one, filter, sync!.id)).toMatchObject({ state: 'committed' });
  });

  it('is dropped if the sync has been abandoned, but not in every segment', async () => {
    const filter = await queued();
    const entry = await entryOf(filter);
    const ended = await one.syncs.get(await current(one, filter), entry.sync!.id);
    const abandoned = { ...ended, state: 'abandoned' as const };
    await change(filter, { ...entry, sync: { ...entry.sync!, stage: 'abandoning', ended: abandoned } });
    expect(await drop(filter)).toBe(QUEUED.length);
    expect((await entryOf(filter)).sync).toBeUndefined();
    expect(await check(one, await current(one, filter), QUEUED)).toEqual(all(QUEUED, 1));
  });

  it('is dropped if Redis is at maxmemory, and the sync is abandoned', async () => {
    const filter = await queued();
    expect(await atLimit(() => drop(filter))).toBe(QUEUED.length);
    expect((await entryOf(filter)).sync).toBeUndefined();
    expect(await check(one, await current(one, filter), QUEUED)).toEqual(all(QUEUED, 1));
  });
});

describe('Redis at maxmemory', () => {
  it('refuses to open a sync and leaves nothing of it, and the set still works', async () => {
    const filter = await make();
    const kept = (await keysOf(filter)).sort();
    await atLimit(() => expectRefusal(open(one, filter), 'STORE_FULL'));
    expect((await entryOf(filter)).sync).toBeUndefined();
    expect((await keysOf(filter)).sort()).toEqual(kept);
    expect(await check(one, await current(one, filter), HELD)).toEqual(all(HELD, 1));
    const { id } = await open(one, filter);
    expect(await commit(one, filter, id)).toMatchObject({ state: 'committed' });
  });

  it('settles entries that a sync has yet to copy, and abandons the sync', async () => {
    const filter = await make();
    const kept = (await keysOf(filter)).sort();
    await discover(one, filter, items(200, 'queued'));
    const { id } = await open(one, filter);
    const owed = await uncopied(filter);
    const now = await current(one, filter);
    const leased = (await one.queue.lease(now, 200, 60_000, made())).map((entry) => entry.id);
    expect(leased).toHaveLength(200);
    await atLimit(async () => {
      expect(await owed()).toBe(0);
      await one.queue.release(now, leased.slice(0, 100), made());
      await one.queue.ack(now, leased.slice(100), made());
      expect(await owed()).toBe(200);
      await expectRefusal(commit(one, filter, id), 'SYNC_ENDED');
      expect((await keysOf(filter)).sort()).toEqual(kept);
    });
    expect(await one.syncs.get(await current(one, filter), id)).toMatchObject({ state: 'abandoned' });
    expect(await check(one, await current(one, filter), items(200, 'queued'))).toEqual(all(items(200), 1));
  });

  it.each<FilterOptions>([{}, { maxAgeSeconds: 86_400, capacity: 150 }])(
    'notes no more removals than a sync can use, even if many follow, %j',
    async (options) => {
      const bounded = await RedisStore.open({ url: server.url, timeoutMs: TIMEOUT_MS, maxSyncForgets: 10 });
      try {
        const filter = await make(options);
        await open(one, filter);
        const now = await current(bounded, filter);
        const noted = async () => {
          const keys = (await keysOf(filter)).filter((key) => key.includes(':removed:'));
          return sum(await Promise.all(keys.map((key) => redis.hlen(key)))) - keys.length;
        };
        await atLimit(async () => {
          await remove(bounded, now, items(10_000, 'absent'));
          const most = await noted();
          expect(most).toBeLessThan(10_000);
          await remove(bounded, now, items(10_000, 'more'));
          expect(await noted()).toBe(most);
        });
      } finally {
        await bounded.close();
      }
    },
  );
});
