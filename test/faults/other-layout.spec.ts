import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Filter } from '#store';
import { EmbeddedStore } from '#store/embedded';
import { RedisStore } from '#store/redis';
import { FORMAT_VERSION } from '../../libs/store/src/embedded/database/database.js';
import { CATALOGUE, LAYOUT_VERSION } from '../../libs/store/src/redis/layout/keys.js';
import { check, filterSpec, items, keyed, makeFilter } from '../contract/calls.js';
import { setFormat } from '../support/embedded-damage.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

const KNOWN = items(10);

describe('Redis with data of another version', () => {
  let server: RedisServer;
  let own: Redis;
  let store: RedisStore;
  const open = (url = server.url) => RedisStore.open({ url, timeoutMs: 10_000 });
  const setVersion = (version: string) => own.hset(CATALOGUE.filters, '', version);
  const refusal = {
    code: 'STORE_UNAVAILABLE',
    message: expect.stringMatching(
      /^Redis has data in key layout 2, and this version reads only key layout 1\. Start the version/,
    ),
  };

  beforeAll(async () => {
    server = await startRedis();
    own = new Redis(server.port, '127.0.0.1');
    store = await open();
  });
  afterEach(() => setVersion(LAYOUT_VERSION));
  afterAll(async () => {
    await store.close();
    own.disconnect();
    await server.stop();
  });

  it('has the version from the first filter on, and keeps it', async () => {
    expect(await own.exists(CATALOGUE.filters)).toBe(0);
    expect(await store.readiness()).toMatchObject({ ready: true });
    const spec = filterSpec();
    const create = keyed();
    await store.create(spec, create);
    await store.create(spec, create);
    expect(await own.hget(CATALOGUE.filters, '')).toMatch(new RegExp(`^${LAYOUT_VERSION} [0-9a-f]{16}$`));
    expect(await store.list('filter', 10)).toMatchObject({ filters: [{ name: spec.name }] });
  });

  it('is refused when a store opens', async () => {
    await setVersion('2');
    await expect(open()).rejects.toMatchObject(refusal);
    await setVersion('');
    await expect(open()).rejects.toThrow('Redis has data in an earlier key layout, and');
  });

  it('is refused by open stores: readiness and calls report it, and change nothing', async () => {
    const filter: Filter = await makeFilter(store);
    // A store that has not used Redis yet, as after a start without Redis.
    const late = await open();
    await setVersion('2');
    await own.del(CATALOGUE.usage);
    expect(await late.readiness()).toMatchObject({ ready: false, reason: refusal.message });
    const keys = (await own.keys('*')).sort();
    const before = await own.hgetall(CATALOGUE.filters);
    const calls = [
      () => late.open(filter.name, 'filter', { fresh: true }),
      () => late.create(filterSpec(), keyed()),
      () => late.clear(filter.name, 'filter', keyed()),
      () => late.drop(filter.name, 'filter', keyed()),
      () => late.list('filter', 10),
      () => late.list('visited-set', 10),
      () => late.usage(['a:']),
      () => late.credentials.list(),
      () => late.credentials.put({ id: 'id', value: 'value' }),
    ];
    for (const call of calls) await expect(call()).rejects.toMatchObject(refusal);
    expect((await own.keys('*')).sort()).toEqual(keys);
    expect(await own.hgetall(CATALOGUE.filters)).toEqual(before);
    await late.close();
    await setVersion(LAYOUT_VERSION);
    expect(await check(store, await store.open(filter.name, 'filter', { fresh: true }), KNOWN)).toEqual(
      KNOWN.map(() => 0),
    );
  });
});

describe('an embedded store with data of another version', () => {
  it('is refused when it opens, and used again by the version that wrote it', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'unseen-format-'));
    try {
      const first = await EmbeddedStore.open({ dataDir });
      const { name } = await makeFilter(first);
      await first.close();
      await setFormat(dataDir, '99');
      await expect(EmbeddedStore.open({ dataDir })).rejects.toThrow(
        `the data directory has format 99, and this version reads only format ${FORMAT_VERSION}`,
      );
      await setFormat(dataDir, FORMAT_VERSION);
      const again = await EmbeddedStore.open({ dataDir });
      expect(await again.open(name, 'filter')).toMatchObject({ name });
      await again.close();
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
