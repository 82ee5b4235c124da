import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { positionsOf, segmentBytes } from '#bloom';
import { Kept, SYSTEM_RANDOM, type Filter, type Store, type Sync } from '#store';
import { RedisStore } from '#store/redis';
import { Allocation } from '../../libs/store/src/redis/catalogue/allocation.js';
import { Catalogue } from '../../libs/store/src/redis/catalogue/catalogue.js';
import { Connection } from '../../libs/store/src/redis/connection/connection.js';
import { Generations } from '../../libs/store/src/redis/catalogue/generations.js';
import type { CatalogueEntry } from '../../libs/store/src/redis/layout/entry.js';
import { CATALOGUE } from '../../libs/store/src/redis/layout/keys.js';
import { LifeCycle } from '../../libs/store/src/redis/catalogue/life-cycle.js';
import { openSyncScript } from '../../libs/store/src/redis/scripts/sync.js';
import { Stragglers } from '../../libs/store/src/redis/catalogue/stragglers.js';
import { RedisFilter } from '../../libs/store/src/redis/layout/filter.js';
import { SyncChanges } from '../../libs/store/src/redis/catalogue/sync-changes.js';
import { Views } from '../../libs/store/src/redis/catalogue/views.js';
import { add, check, deadline, filterSpec, items, made, remove, SEGMENTED } from '../contract/calls.js';
import { syncPlan } from '../contract/sync-calls.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

/*
 * Segments that miss a step of a sync or make it late. The cause is a failover that loses unreplicated writes, or a
 * paused instance that continues a sync after others have ended it.
 */

const TIMEOUT_MS = 10_000;
const HELD = items(60);
const LISTED = HELD.slice(0, 40);

let server: RedisServer;
let redis: Redis;
/** Two service instances. */
let one: RedisStore;
let other: RedisStore;

beforeAll(async () => {
  server = await startRedis();
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
async function make(): Promise<Filter> {
  const options = { kind: 'visited-set', errorRate: 1e-7, capacity: 1_000, growsTo: Infinity } as const;
  const spec = filterSpec({ name: `s-${randomUUID()}`, ...options, segmentation: SEGMENTED });
  const { filter } = await one.create(spec, made());
  await add(one, filter, HELD);
  return filter;
}

const current = (store: Store, { name, kind }: Filter) => store.open(name, kind, { fresh: true });

async function open(filter: Filter): Promise<Sync> {
  const now = await current(one, filter);
  return one.syncs.open(now, syncPlan(now, { capacity: 500 }), made());
}

async function keep(filter: Filter, id: string, keys: readonly string[]): Promise<number[]> {
  const now = await current(one, filter);
  return [...(await one.syncs.keep(now, id, positionsOf(keys, now.seed, now.geometry), made()))];
}

const commit = async (filter: Filter, id: string) =>
  one.syncs.commit(await current(one, filter), id, 1, deadline());

const abandon = async (filter: Filter, id: string) =>
  one.syncs.abandon(await current(one, filter), id, deadline());

const keysOf = async ({ generation }: Filter, segment: number | '' = ''): Promise<string[]> =>
  (await redis.keys(`unseen:{${generation}.${segment}*`)).sort();

const entryOf = async ({ name }: Filter): Promise<CatalogueEntry> =>
  JSON.parse((await redis.hget(CATALOGUE.filters, name)) ?? '{}') as CatalogueEntry;

/** Saves a segment's state. The returned function restores it, like a failover that loses later writes. */
async function lost(filter: Filter, segment: number): Promise<() => Promise<void>> {
  const keys = await keysOf(filter, segment);
  const values = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
  return async () => {
    const now = await keysOf(filter, segment);
    await Promise.all(now.map((key) => redis.del(key)));
    await Promise.all(keys.map((key, n) => redis.restore(key, 0, values[n] as Buffer)));
  };
}

/** Makes a segment take part in a sync, like an instance that was paused after it announced the sync. */
async function openLate(filter: Filter, segment: number, id: string): Promise<void> {
  const { tags, geometry, generation } = await entryOf(filter);
  const prefix = `unseen:{${tags[segment] ?? ''}}`;
  const args = [generation, segmentBytes(geometry), `${generation}+${id}`];
  const reply = await redis.eval(openSyncScript.lua, 2, `${prefix}:cells`, `${prefix}:meta`, ...args);
  expect(reply).toBe('OK');
}

const stored = async (filter: Filter, keys: readonly string[]) =>
  check(other, await current(other, filter), keys);

describe('a failover that loses in one segment', () => {
  it('the commit: the segment commits again, with all kept items', async () => {
    const filter = await make();
    const before = (await keysOf(filter)).length;
    const { id } = await open(filter);
    await keep(filter, id, [...LISTED, 'listed']);
    const failOver = await lost(filter, 1);
    await commit(filter, id);
    await failOver();
    expect(await stored(filter, [...HELD, 'listed'])).toEqual([
      ...all(LISTED, 1),
      ...all(HELD.slice(40), 0),
      1,
    ]);
    expect(await add(one, await current(one, filter), items(40, 'later'))).toEqual(all(items(40), 1));
    expect((await keysOf(filter)).length).toBe(before);
    await commit(filter, (await open(filter)).id);
    expect(await stored(filter, [...HELD, 'listed'])).toEqual(all(items(61), 0));
  });

  it('the commit, before the next sync: that opens, and keeps its listed items', async () => {
    const filter = await make();
    const before = (await keysOf(filter)).length;
    const first = await open(filter);
    await keep(filter, first.id, HELD);
    const failOver = await lost(filter, 2);
    await commit(filter, first.id);
    await failOver();
    const { id } = await open(filter);
    await keep(filter, id, LISTED);
    await commit(filter, id);
    expect(await stored(filter, HELD)).toEqual([...all(LISTED, 1), ...all(HELD.slice(40), 0)]);
    expect((await keysOf(filter)).length).toBe(before);
  });

  it('the end of an abandoned sync: the set loses nothing', async () => {
    const filter = await make();
    const before = await keysOf(filter);
    const { id } = await open(filter);
    await keep(filter, id, ['listed']);
    const failOver = await lost(filter, 0);
    await abandon(filter, id);
    await failOver();
    expect(await stored(filter, [...HELD, 'listed'])).toEqual([...all(HELD, 1), 0]);
    expect(await remove(one, await current(one, filter), HELD)).toEqual(all(HELD, 1));
    expect(await keysOf(filter)).toEqual(before);
  });

  it('the opening: the sync is abandoned before it forgets anything', async () => {
    const filter = await make();
    const failOver = await lost(filter, 3);
    const { id } = await open(filter);
    await keep(filter, id, LISTED.slice(0, 1));
    await failOver();
    expect(await add(other, await current(other, filter), items(40, 'later'))).toEqual(all(items(40), 1));
    await expect(commit(filter, id)).rejects.toMatchObject({ code: 'SYNC_ENDED' });
    expect(await stored(filter, [...HELD, ...items(40, 'later')])).toEqual(all(items(100), 1));
    expect(await open(filter)).toMatchObject({ state: 'open' });
  });
});

/** Announces a sync like an instance that is killed right after that. `since` is when it last gave a sign of life. */
async function announce(
  catalogue: Catalogue,
  changes: SyncChanges,
  filter: Filter,
  id: string,
  since: number,
) {
  const read = await catalogue.read(filter.name, deadline());
  const { entry } = read;
  if (!entry) throw new Error('the filter has no entry');
  const plan = syncPlan(await current(one, filter));
  const operation = { id: 'opening', fingerprint: '' };
  const base = plan.layers?.length ?? 1;
  const sync = { ...{ id, stage: 'opening' as const, plan, base }, openedAt: since, since, operation };
  const found = await changes.announce({ ...read, entry }, sync, base, deadline(), undefined);
  if (!found) throw new Error('the sync was not announced');
  return found;
}

describe('an instance that continues to open a sync after it was abandoned', () => {
  it('takes no segment from the set', async () => {
    const filter = await make();
    const { id } = await open(filter);
    await abandon(filter, id);
    await openLate(filter, 1, id);
    expect(await stored(filter, HELD)).toEqual(all(HELD, 1));
    expect(await add(one, await current(one, filter), items(40, 'later'))).toEqual(all(items(40), 1));
  });

  it('doesn’t prevent the next sync from opening', async () => {
    const filter = await make();
    const { id } = await open(filter);
    await abandon(filter, id);
    await openLate(filter, 2, id);
    const next = await open(filter);
    expect(await keep(filter, next.id, LISTED)).toEqual(all(LISTED, Kept.Present));
    await commit(filter, next.id);
    expect(await stored(filter, HELD)).toEqual([...all(LISTED, 1), ...all(HELD.slice(40), 0)]);
  });

  it.each([0, 1, 2, 3])(
    'leaves no Redis keys behind if the sync was abandoned before segment %i’s keys',
    async (segment) => {
      const filter = await make();
      const before = await keysOf(filter);
      const connection = new Connection({ url: server.url, timeoutMs: TIMEOUT_MS });
      await connection.firstTry();
      try {
        const catalogue = new Catalogue(connection, TIMEOUT_MS, 2 ** 20);
        const { tags } = await entryOf(filter);
        const [id, late] = ['0123456789abcdef', tags[segment]];
        /** Pauses until the other instance has abandoned the sync. */
        class StandingStill extends Allocation {
          override async makeLayer(...args: Parameters<Allocation['makeLayer']>): Promise<void> {
            if (args[0] === late) await other.syncs.abandon(await current(other, filter), id, deadline());
            await super.makeLayer(...args);
          }
        }
        const allocation = new StandingStill(connection);
        const stragglers = new Stragglers(connection, catalogue, allocation);
        const changes = new SyncChanges(connection, catalogue, allocation, stragglers);
        const found = await announce(catalogue, changes, filter, id, Date.now());
        expect(await changes.open(found, made())).toBe(false);
      } finally {
        await connection.close();
      }
      expect((await entryOf(filter)).sync).toBeUndefined();
      // No call can have found and deleted them.
      expect(await keysOf(filter)).toEqual(before);
      expect(await stored(filter, HELD)).toEqual(all(HELD, 1));
    },
  );

  it('doesn’t fail calls that meet the segment at the same time', async () => {
    const filter = await make();
    const { id } = await open(filter);
    await abandon(filter, id);
    const connection = new Connection({ url: server.url, timeoutMs: TIMEOUT_MS });
    await connection.firstTry();
    try {
      const catalogue = new Catalogue(connection, TIMEOUT_MS, 2 ** 20);
      const allocation = new Allocation(connection);
      /** Waits for another instance to end the sync in the segment. */
      class Outrun extends Stragglers {
        override async end(...args: Parameters<Stragglers['end']>): Promise<boolean> {
          expect(await stored(filter, HELD)).toEqual(all(HELD, 1));
          return super.end(...args);
        }
      }
      const stragglers = new Outrun(connection, catalogue, allocation);
      const views = new Views(
        connection,
        catalogue,
        stragglers,
        new SyncChanges(connection, catalogue, allocation, stragglers),
      );
      const view = RedisFilter.of(await current(one, filter)).viewOf(1);
      await openLate(filter, 1, id);
      const again = await views.look(view, deadline());
      expect(await views.look(again, deadline())).toMatchObject({ token: view.token, sync: undefined });

      const changes = new SyncChanges(
        connection,
        catalogue,
        allocation,
        new Stragglers(connection, catalogue, allocation),
      );
      const next = await announce(catalogue, changes, filter, '0123456789abcdef', Date.now());
      await openLate(filter, 1, id);
      const outrun = new SyncChanges(connection, catalogue, allocation, stragglers);
      expect(await outrun.open(next, made())).toBe(true);
      await abandon(filter, '0123456789abcdef');
    } finally {
      await connection.close();
    }
    expect(await stored(filter, HELD)).toEqual(all(HELD, 1));
  });

  it('learns of the end if another instance is deleting the filter, and leaves no Redis keys behind', async () => {
    const filter = await make();
    const connection = new Connection({ url: server.url, timeoutMs: TIMEOUT_MS });
    await connection.firstTry();
    let refused: unknown;
    try {
      const catalogue = new Catalogue(connection, TIMEOUT_MS, 2 ** 20);
      const allocation = new Allocation(connection);
      const stragglers = new Stragglers(connection, catalogue, allocation);
      const changes = new SyncChanges(connection, catalogue, allocation, stragglers);
      const found = await announce(catalogue, changes, filter, '0123456789abcdef', Date.now());
      /** Continues the opening after the deletion has freed the keys. The catalogue still has the filter. */
      class Freed extends Allocation {
        override async free(...args: Parameters<Allocation['free']>): Promise<void> {
          await super.free(...args);
          refused ??= await changes.open(found, made()).catch((error: unknown) => error);
        }
      }
      const generations = new Generations(catalogue, new Freed(connection), SYSTEM_RANDOM);
      await new LifeCycle(catalogue, generations).drop(filter.name, filter.kind, made());
    } finally {
      await connection.close();
    }
    expect(refused).toMatchObject({
      ...{ code: 'SYNC_ENDED', message: expect.stringContaining('was cleared or deleted') as unknown },
    });
    expect(await keysOf(filter)).toEqual([]);
  });

  it('is named as the reason if it was killed and the next sync takes its place', async () => {
    const filter = await make();
    const connection = new Connection({ url: server.url, timeoutMs: TIMEOUT_MS });
    await connection.firstTry();
    const id = 'fedcba9876543210';
    try {
      const catalogue = new Catalogue(connection, TIMEOUT_MS, 2 ** 20);
      const allocation = new Allocation(connection);
      const changes = new SyncChanges(
        connection,
        catalogue,
        allocation,
        new Stragglers(connection, catalogue, allocation),
      );
      await announce(catalogue, changes, filter, id, Date.now() - 60_000);
    } finally {
      await connection.close();
    }
    const { id: next } = await open(filter);
    expect(next).not.toBe(id);
    expect(await one.syncs.get(await current(one, filter), id)).toMatchObject({
      state: 'abandoned',
      reason: 'the service stopped while opening it',
    });
    await commit(filter, next);
    expect(await stored(filter, HELD)).toEqual(all(HELD, 0));
  });
});
