import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { DEFAULT_MAX_SYNC_FORGETS, SYNC_OUTCOMES, type SyncOutcome } from '#store';
import type { CatalogueEntry } from '../../libs/store/src/redis/layout/entry.js';
import { CATALOGUE } from '../../libs/store/src/redis/layout/keys.js';
import { rowsOf } from '../support/markdown.js';
import { startApp, type TestApp } from '../support/app.js';
import { scrape } from '../support/metrics.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { Synced } from '../support/synced.js';
import { until } from '../support/until.js';

/** Longer than SYNC_IDLE_SECONDS. */
const IDLE_MS = 2 * 3_600_000;
/** The limit on removals is approximate: Redis checks it between batches. */
const MARGIN = 10_000;
const items = (count: number): string[] => Array.from({ length: count }, (_, n) => String(n));

/** A service, and its Redis if it has one. */
interface Subject {
  readonly app: TestApp;
  readonly redis: Redis;
}

/** Makes a sync of a new filter end. */
type Ending = (subject: Subject) => Promise<unknown>;

const open = async ({ app }: Subject, spec: object = {}, sync: object = {}) => {
  const filter = await Synced.filter(app, spec);
  return { filter, id: (await filter.open(sync)).id };
};

const EVERYWHERE: Partial<Record<SyncOutcome, Ending>> = {
  committed: async (subject) => {
    const { filter, id } = await open(subject);
    await filter.committed(id);
  },
  caller: async (subject) => {
    const { filter, id } = await open(subject);
    expect(await filter.abandon(id)).toMatchObject({ status: 204 });
  },
  idle: async (subject) => {
    const { filter } = await open(subject);
    subject.app.advance(IDLE_MS);
    await until('the sync is abandoned', async () => {
      // The service looks for idle syncs every few seconds.
      subject.app.advance(10_000);
      return (await filter.describe()).sync === undefined;
    });
  },
  forgets: async (subject) => {
    const { filter, id } = await open(subject);
    const answer = await fetch(`${subject.app.url}${filter.path}/items/remove`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: items(DEFAULT_MAX_SYNC_FORGETS + MARGIN).join('\n'),
    });
    expect([answer.status, (await answer.text()).includes('"error"')]).toEqual([200, false]);
    // On Redis, the next look at the sync abandons it.
    expect(await filter.sync(id)).toMatchObject({ state: 'abandoned' });
  },
  full: async (subject) => {
    const { filter } = await open(subject, { growth: 'none' }, { capacity: 10 });
    await filter.batch('add', items(100));
  },
};

const ON_REDIS: Partial<Record<SyncOutcome, Ending>> = {
  memory: async ({ app, redis }) => {
    // The memory of earlier syncs would be room for this one.
    await until('Redis has freed deleted keys', async () =>
      /lazyfree_pending_objects:0\r/.test(await redis.info('memory')),
    );
    const filter = await Synced.filter(app, { capacity: 1_000_000 });
    const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
    await redis.config('SET', 'maxmemory', String(used + 2 ** 20));
    try {
      expect(await filter.send('POST', '/syncs', {})).toMatchObject({ status: 507 });
    } finally {
      await redis.config('SET', 'maxmemory', '0');
    }
  },
  lost: async (subject) => {
    const { filter, id } = await open(subject);
    // As after a failover that lost the step in which a segment joined the sync.
    const { tags, generation } = await entryOf(subject, filter);
    for (const tag of tags) {
      const meta = `unseen:{${tag}}:meta`;
      const names = await subject.redis.hkeys(meta);
      await subject.redis.hdel(meta, ...names.filter((name) => name.startsWith('s:')));
      await subject.redis.hset(meta, 'generation', generation);
    }
    expect(await filter.list(id, ['a'])).toMatchObject({ status: 409, body: { code: 'SYNC_ENDED' } });
  },
  opening: async (subject) => {
    const { filter } = await open(subject);
    // As if an instance had died long ago while it opened the sync.
    const entry = await entryOf(subject, filter);
    const sync = { ...entry.sync, stage: 'opening', since: 0 };
    await subject.redis.hset(CATALOGUE.filters, filter.name, JSON.stringify({ ...entry, sync }));
    await filter.open();
  },
};

async function entryOf({ redis }: Subject, { name }: Synced): Promise<CatalogueEntry> {
  return JSON.parse((await redis.hget(CATALOGUE.filters, name)) ?? '') as CatalogueEntry;
}

describe.each([
  ['embedded', EVERYWHERE],
  ['redis', { ...EVERYWHERE, ...ON_REDIS }],
] as const)('the counter of ended syncs, %s store', (store, endings) => {
  let server: RedisServer;
  let subject: Subject;
  beforeAll(async () => {
    server = await startRedis();
    const app = await startApp(store === 'redis' ? { REDIS_URL: server.url } : {});
    subject = { app, redis: new Redis(server.port, '127.0.0.1') };
  });
  afterAll(async () => {
    subject.redis.disconnect();
    await subject.app.close();
    await server.stop();
  });

  it.each(Object.entries(endings))(
    'counts a sync that ends as %s once, and no other',
    async (outcome, end) => {
      const ended = async () => (await scrape(subject.app)).of('unseen_syncs_ended_total');
      const series = `{outcome="${outcome}"}`;
      const before = await ended();
      await end(subject);
      expect(await ended()).toEqual({ ...before, [series]: before[series]! + 1 });
    },
  );
});

it('docs/metrics.md says which outcomes only Redis has, and tests make all of them happen', () => {
  const rows = rowsOf('docs/metrics.md', 'outcome');
  const onRedis = rows.flatMap(([outcome, reason = '']) => (reason.startsWith('Redis') ? [outcome] : []));
  expect(onRedis).toEqual(Object.keys(ON_REDIS));
  expect(Object.keys({ ...EVERYWHERE, ...ON_REDIS }).sort()).toEqual([...SYNC_OUTCOMES].sort());
});
