import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { positionsOf } from '#bloom';
import { Kept, StoreError, SYSTEM_RANDOM, type Filter, type Store, type Sync } from '#store';
import { RedisStore } from '#store/redis';
import { Allocation } from '../../libs/store/src/redis/catalogue/allocation.js';
import { Catalogue } from '../../libs/store/src/redis/catalogue/catalogue.js';
import { Connection } from '../../libs/store/src/redis/connection/connection.js';
import type { CatalogueEntry } from '../../libs/store/src/redis/layout/entry.js';
import { RedisFilter } from '../../libs/store/src/redis/layout/filter.js';
import { Growth } from '../../libs/store/src/redis/catalogue/growth.js';
import { CATALOGUE } from '../../libs/store/src/redis/layout/keys.js';
import { ItemCalls } from '../../libs/store/src/redis/items/item-calls.js';
import { Segments } from '../../libs/store/src/redis/segments/segments.js';
import { Stragglers } from '../../libs/store/src/redis/catalogue/stragglers.js';
import { SyncChanges, syncing } from '../../libs/store/src/redis/catalogue/sync-changes.js';
import { SyncEnds } from '../../libs/store/src/redis/segments/sync-ends.js';
import { SyncSums } from '../../libs/store/src/redis/segments/sync-sums.js';
import { RedisSyncs } from '../../libs/store/src/redis/syncs/syncs.js';
import { Views } from '../../libs/store/src/redis/catalogue/views.js';
import {
  add,
  check,
  deadline,
  expectRefusal,
  expectStale,
  filterSpec,
  items,
  keyed,
  made,
  remove,
  SEGMENTED,
  type FilterOptions,
} from '../contract/calls.js';
import { syncPlan } from '../contract/sync-calls.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';

/*
 * Two service instances on one Redis that loses nothing. One acts while the other is paused or cut off.
 */

const TIMEOUT_MS = 30_000;
const HELD = items(60);
const LISTED = HELD.slice(0, 40);

let server: RedisServer;
let redis: Redis;
/** `one` reaches Redis through this proxy, which can interrupt it. */
let proxy: TcpProxy;
let one: RedisStore;
let other: RedisStore;
let connection: Connection;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  proxy = await TcpProxy.start(server.port);
  one = await RedisStore.open({ url: `redis://127.0.0.1:${proxy.port}`, timeoutMs: TIMEOUT_MS });
  other = await RedisStore.open({ url: server.url, timeoutMs: TIMEOUT_MS });
  connection = new Connection({ url: server.url, timeoutMs: TIMEOUT_MS });
  await connection.firstTry();
});
afterAll(async () => {
  await one.close();
  await other.close();
  await connection.close();
  redis.disconnect();
  await proxy.stop();
  await server.stop();
});

afterEach(() => proxy.restore());

const all = (keys: readonly unknown[], answer: number): number[] => keys.map(() => answer);

/** A visited set with four segments that contains HELD. */
async function make(options: FilterOptions = { growsTo: Infinity }): Promise<Filter> {
  const spec = filterSpec({
    ...{ name: `i-${randomUUID()}`, kind: 'visited-set', errorRate: 1e-9, capacity: 1_000 },
    ...{ segmentation: SEGMENTED, ...options },
  });
  const { filter } = await other.create(spec, made());
  await add(other, filter, HELD);
  return filter;
}

const current = (store: Store, { name, kind }: Filter) => store.open(name, kind, { fresh: true });

async function open(filter: Filter): Promise<Sync> {
  const now = await current(other, filter);
  return other.syncs.open(now, syncPlan(now), made());
}

async function keep(store: Store, handle: Filter, id: string, keys: readonly string[]): Promise<number[]> {
  const positions = positionsOf(keys, handle.seed, handle.geometry);
  return [...(await store.syncs.keep(handle, id, positions, made()))];
}

const commit = async (filter: Filter, id: string) =>
  other.syncs.commit(await current(other, filter), id, 1, deadline());

const stored = async (filter: Filter, keys: readonly string[]) =>
  check(other, await current(other, filter), keys);

async function setStage(filter: Filter, stage: 'opening' | 'open'): Promise<void> {
  const entry = JSON.parse((await redis.hget(CATALOGUE.filters, filter.name)) ?? '{}') as CatalogueEntry;
  if (!entry.sync) throw new Error('the entry has no sync');
  await redis.hset(
    CATALOGUE.filters,
    filter.name,
    JSON.stringify({ ...entry, sync: { ...entry.sync, stage } }),
  );
}

/** A catalogue that another instance changes right after it was read. */
class ChangedAfterRead extends Catalogue {
  constructor(private change: (() => Promise<unknown>) | undefined) {
    super(connection, TIMEOUT_MS, 2 ** 20);
  }

  override async read(...args: Parameters<Catalogue['read']>): ReturnType<Catalogue['read']> {
    const found = await super.read(...args);
    const { change } = this;
    this.change = undefined;
    await change?.();
    return found;
  }
}

function changesWith(catalogue: Catalogue): SyncChanges {
  const allocation = new Allocation(connection);
  return new SyncChanges(
    connection,
    catalogue,
    allocation,
    new Stragglers(connection, catalogue, allocation),
  );
}

/** The syncs of an instance that uses `catalogue`. */
function syncsWith(catalogue: Catalogue): RedisSyncs {
  const allocation = new Allocation(connection);
  const changes = changesWith(catalogue);
  const stragglers = new Stragglers(connection, catalogue, allocation);
  const views = new Views(connection, catalogue, stragglers, changes);
  const segments = new Segments(connection, views, {
    maxRecordBytes: 2 ** 20,
    maxMarks: 1_000,
    maxHosts: 1_000,
  });
  const growth = new Growth(catalogue, allocation, TIMEOUT_MS);
  const limits = { maxSyncForgets: 1_000, maxHidden: 1_000 };
  const sums = new SyncSums(connection, limits.maxSyncForgets);
  const ends = new SyncEnds(catalogue, changes, sums);
  const itemCalls = new ItemCalls(segments, growth, limits, ends, () => Promise.resolve(0));
  return new RedisSyncs({
    ...{ connection, catalogue, views, changes, sums, ends, segments, itemCalls },
    ...{ random: SYSTEM_RANDOM, timeoutMs: TIMEOUT_MS, idleMs: 60_000 },
  });
}

/** Makes another instance announce a sync's end, and stop there. */
async function beginEnd(
  filter: Filter,
  id: string,
  stage: 'committing' | 'abandoning' = 'committing',
): Promise<void> {
  const catalogue = new Catalogue(connection, TIMEOUT_MS, 2 ** 20);
  const sync = await other.syncs.get(await current(other, filter), id);
  const found = syncing(await catalogue.read(filter.name, deadline()));
  if (!found) throw new Error('the entry has no sync');
  const state = stage === 'committing' ? 'committed' : 'abandoned';
  await changesWith(catalogue).end(found, stage, { ...sync, state }, deadline());
}

describe('a call that is retried after another instance has opened a sync', () => {
  it.each<[string, FilterOptions]>([
    ['of one layer', {}],
    ['that grows', { growsTo: Infinity }],
    ['that ages', { growsTo: Infinity, maxAgeSeconds: 86_400, errorRate: 1e-7 }],
  ])(
    'counts in the sync, in a set %s: added items stay, and forgotten items are gone',
    async (_, options) => {
      const filter = await make(options);
      const handle = await one.open(filter.name, filter.kind);
      await until('the store is connected', async () => (await one.readiness()).ready);
      // The calls don't read how full the set is, so they choose their scripts before the sync is opened.
      RedisFilter.of(handle).stack.counted(Infinity);
      proxy.interrupt();
      const adding = add(one, handle, items(20, 'new'));
      const removing = remove(one, handle, HELD.slice(0, 20));
      await new Promise((resolve) => setImmediate(resolve));
      const { id } = await open(filter);
      // The handle learns about the sync from another call.
      expect((await other.describe(handle)).sync).toMatchObject({ id });
      proxy.restore();
      expect(await adding).toEqual(all(items(20), 1));
      expect(await removing).toEqual(all(items(20), 1));
      await keep(other, await current(other, filter), id, LISTED);
      await commit(filter, id);
      expect(await stored(filter, items(20, 'new'))).toEqual(all(items(20), 1));
      expect(await stored(filter, HELD)).toEqual([
        ...all(items(20), 0),
        ...all(items(20), 1),
        ...all(items(20), 0),
      ]);
    },
  );
});

describe('an instance that meets a sync while another opens it', () => {
  it('accepts lists for it afterwards, and doesn’t abandon it', async () => {
    const filter = await make();
    const handle = await one.open(filter.name, filter.kind);
    const { id } = await open(filter);
    await setStage(filter, 'opening');
    // This call learns about the sync, but only that the item's segment takes part in it.
    expect(await check(one, handle, ['item 0'])).toEqual([1]);
    await setStage(filter, 'open');
    expect(await keep(one, handle, id, LISTED)).toEqual(all(LISTED, Kept.Present));
    expect(await commit(filter, id)).toMatchObject({ state: 'committed', kept: LISTED.length });
    expect(await stored(filter, HELD)).toEqual([...all(LISTED, 1), ...all(HELD.slice(40), 0)]);
  });

  it('doesn’t abandon it when a call reports late that no sync was open', async () => {
    const filter = await make();
    const handle = await one.open(filter.name, filter.kind);
    const { id } = await open(filter);
    const { known } = RedisFilter.of(handle);
    const takePart = known.takePart.bind(known);
    let isLate = true;
    known.takePart = () => {
      takePart();
      // Another call read the entry before the sync was opened.
      if (isLate) known.learn({});
      isLate = false;
    };
    expect(await keep(one, handle, id, LISTED)).toEqual(all(LISTED, Kept.Present));
    expect(await commit(filter, id)).toMatchObject({ state: 'committed', kept: LISTED.length });
  });
});

/**
 * A catalogue in which another instance acts right after a change to an open sync. If the change's reply is lost, the
 * change is sent again after that.
 */
class Outpaced extends Catalogue {
  constructor(
    private meanwhile: ((id: string) => Promise<unknown>) | undefined,
    private readonly isAnswerLost: boolean,
  ) {
    super(connection, TIMEOUT_MS, 2 ** 20);
  }

  override async set(...args: Parameters<Catalogue['set']>): ReturnType<Catalogue['set']> {
    const raw = await super.set(...args);
    const { meanwhile } = this;
    const sync = args[1]?.sync;
    if (raw === undefined || sync?.stage !== 'open' || !meanwhile) return raw;
    this.meanwhile = undefined;
    await meanwhile(sync.id);
    return this.isAnswerLost ? super.set(...args) : raw;
  }
}

const abandon = async (filter: Filter, id: string) =>
  other.syncs.abandon(await current(other, filter), id, deadline());

describe('an instance that opens a sync', () => {
  it.each([
    ['committed', 'heard', commit],
    ['committed', 'lost', commit],
    ['abandoned', 'heard', abandon],
    ['abandoned', 'lost', abandon],
  ])(
    'returns it if another instance has %s it first, and opens no other, and the reply is %s',
    async (state, how, endIt) => {
      const filter = await make();
      let ended = '';
      const endFirst = async (id: string) => {
        ended = id;
        await endIt(filter, id);
      };
      const catalogue = new Outpaced(endFirst, how === 'lost');
      const handle = await current(other, filter);
      expect(await syncsWith(catalogue).open(handle, syncPlan(handle), made())).toMatchObject({
        ...{ id: ended, state },
      });
      expect((await other.describe(await current(other, filter))).sync).toBeUndefined();
    },
  );
});

describe('a key that is lost while a sync is open', () => {
  it.each(['cells', 'operations:made:current', 'queue:leases', 'removed:', 'owed:'])(
    'is reported as lost data: %s',
    async (lost) => {
      const filter = await make();
      const { id } = await open(filter);
      await keep(other, await current(other, filter), id, LISTED);
      const keys = await redis.keys(`unseen:{${filter.generation}*:${lost}*`);
      expect(keys.length).toBeGreaterThan(0);
      await redis.del(...keys);
      const handle = await current(one, filter);
      const calls = [
        ...[() => add(one, handle, ['one more', ...HELD]), () => check(one, handle, HELD)],
        () => one.queue.lease(handle, 10, 1_000, made()),
      ];
      const codes = await Promise.all(
        calls.map((call) =>
          call().then(
            () => 'answered',
            (error: unknown) => (error instanceof StoreError ? error.code : String(error)),
          ),
        ),
      );
      // Calls that don't use the key still succeed.
      expect(codes).toContain('STORE_DATA_LOST');
      for (const code of codes) expect(['answered', 'STORE_DATA_LOST']).toContain(code);
    },
  );
});

describe('an instance that is paused while another ends a sync', () => {
  it('gives a repeated list the same answer, although it didn’t know about the end', async () => {
    const filter = await make();
    const { id } = await open(filter);
    const handle = await current(one, filter);
    const positions = positionsOf(['new', ...LISTED], handle.seed, handle.geometry);
    const listing = keyed();
    const first = await one.syncs.keep(handle, id, positions, listing);
    expect([...first]).toEqual([Kept.New, ...all(LISTED, Kept.Present)]);
    await other.syncs.abandon(await current(other, filter), id, deadline());
    expect(await one.syncs.keep(handle, id, positions, listing)).toEqual(first);
    await expectRefusal(one.syncs.keep(handle, id, positions, keyed()), 'SYNC_ENDED');
  });

  it('learns that the sync has ended, even if its next list would not fit', async () => {
    const filter = await make({});
    const now = await current(other, filter);
    const { id } = await other.syncs.open(now, syncPlan(now, { capacity: 30 }), made());
    const handle = await current(one, filter);
    await keep(one, handle, id, LISTED);
    await other.syncs.abandon(await current(other, filter), id, deadline());
    await expectRefusal(keep(one, handle, id, items(100, 'more')), 'SYNC_ENDED');
  });

  it('between its reads of the catalogue and of a segment: no data is lost, and its handle is stale', async () => {
    const filter = await make();
    const handle = RedisFilter.of(await one.open(filter.name, filter.kind));
    const { id } = await open(filter);
    await keep(other, await current(other, filter), id, HELD);
    const catalogue = new ChangedAfterRead(() => commit(filter, id));
    const stragglers = new Stragglers(connection, catalogue, new Allocation(connection));
    const views = new Views(connection, catalogue, stragglers, changesWith(catalogue));
    const rejected = handle.viewOf(0);
    const next = await views.look(rejected, deadline());
    await expectStale(views.look(next, deadline()));
    expect(await stored(filter, HELD)).toEqual(all(HELD, 1));
  });

  it('and opens the next one, in the middle of the same commit: it has nothing left to do', async () => {
    const filter = await make();
    const { id } = await open(filter);
    await keep(other, await current(other, filter), id, LISTED);
    await beginEnd(filter, id);
    const changes = changesWith(new Catalogue(connection, TIMEOUT_MS, 2 ** 20));
    let next: Sync | undefined;
    const late = changesWith(
      new ChangedAfterRead(async () => {
        await changes.goOn(filter.name, deadline());
        next = await open(filter);
      }),
    );
    await late.goOn(filter.name, deadline());
    expect(await other.syncs.get(await current(other, filter), next?.id ?? '')).toMatchObject({
      state: 'open',
    });
    expect(await stored(filter, HELD)).toEqual([...all(LISTED, 1), ...all(HELD.slice(40), 0)]);
  });

  it('by a commit, after it has read that the sync is open: it learns of the commit', async () => {
    const filter = await make();
    const { id } = await open(filter);
    await keep(other, await current(other, filter), id, HELD);
    const late = () => syncsWith(new ChangedAfterRead(() => beginEnd(filter, id)));
    const handle = await current(other, filter);
    await expect(late().abandon(handle, id, deadline())).rejects.toMatchObject({
      ...{ code: 'SYNC_ENDED', message: expect.stringContaining('is committing') as unknown },
    });
    await commit(filter, id);
    expect(await stored(filter, HELD)).toEqual(all(HELD, 1));
  });

  it('by a commit, and finds that no more removals can be noted: it learns of the commit', async () => {
    const filter = await make();
    const { id } = await open(filter);
    const handle = await current(other, filter);
    const [meta = ''] = await redis.keys(`unseen:{${filter.generation}*:meta`);
    const catalogue = new ChangedAfterRead(async () => {
      await beginEnd(filter, id);
      await redis.hset(meta, 's:full', '1');
    });
    expect(await syncsWith(catalogue).get(handle, id)).toMatchObject({ id, state: 'committing' });
    await commit(filter, id);
  });

  it.each<[string, (handle: Filter, id: string) => Promise<unknown>]>([
    ['get', (handle, id) => other.syncs.get(handle, id)],
    ['keep', (handle, id) => keep(other, handle, id, ['more'])],
    ['commit', (handle, id) => other.syncs.commit(handle, id, 1, deadline())],
    ['open', (handle) => other.syncs.open(handle, syncPlan(handle), made())],
  ])(
    'and died while it abandoned the sync: once %s reports the end, the sync’s layers are gone',
    async (_, call) => {
      const filter = await make();
      const { id } = await open(filter);
      await keep(other, await current(other, filter), id, items(20, 'listed'));
      await beginEnd(filter, id, 'abandoning');
      expect((await other.describe(await current(other, filter))).sync).toBeUndefined();
      const told = await call(await current(other, filter), id).catch((error: unknown) => error);
      expect(told).toMatchObject(
        told instanceof StoreError
          ? { code: 'SYNC_ENDED', message: expect.stringContaining('is abandoned') as unknown }
          : { state: expect.stringMatching(/^(open|abandoned)$/) as unknown },
      );
      expect(await stored(filter, [...items(20, 'listed'), ...HELD])).toEqual([
        ...all(items(20), 0),
        ...all(HELD, 1),
      ]);
    },
  );

  it('before it creates a layer for that sync: none is needed', async () => {
    const filter = await make();
    const { id } = await open(filter);
    const handle = RedisFilter.of(await current(one, filter));
    const { sync } = handle;
    if (!sync) throw new Error('the handle knows no sync');
    await other.syncs.abandon(await current(other, filter), id, deadline());
    const growth = new Growth(
      new Catalogue(connection, TIMEOUT_MS, 2 ** 20),
      new Allocation(connection),
      TIMEOUT_MS,
    );
    const keys = (await redis.keys(`unseen:{${filter.generation}*`)).sort();
    await growth.remake(handle, sync.stack, 0, 0, deadline());
    expect((await redis.keys(`unseen:{${filter.generation}*`)).sort()).toEqual(keys);
    expect(await stored(filter, HELD)).toEqual(all(HELD, 1));
  });
});
