import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RedisStore } from '#store/redis';
import { Redis } from 'ioredis';
import { epochMs } from '../../libs/store/src/age.js';
import { clock } from '../support/clock.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { exportFile, importFile } from '../support/export-files.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { discover, expectRefusal, items, made, makeFilter } from './calls.js';
import { hostOptions, urls } from './host-calls.js';

const MAX_AGE_SECONDS = 86_400;
const HIDDEN = 5_000;
const LEASED = 5_000;
const HOSTS = 1_200;
/**
 * How many bytes a thousand entries or hidden items have, which is more than any of an export's commands returns. The
 * cells have fewer.
 */
const MOST_BYTES = 64 * 1_024;

describe('an export from Redis', () => {
  let server: RedisServer;
  let proxy: TcpProxy;
  let store: RedisStore;
  let client: Redis;
  beforeAll(async () => {
    server = await startRedis();
    proxy = await TcpProxy.start(server.port);
    store = await RedisStore.open({ url: `redis://127.0.0.1:${proxy.port}`, timeoutMs: 10_000, clock });
    client = new Redis(server.port, '127.0.0.1');
  });
  afterAll(async () => {
    client.disconnect();
    await store.close();
    await proxy.stop();
    await server.stop();
  });

  it('reads any number of hidden items and entries in slices', async () => {
    const filter = await makeFilter(store, {
      ...{ kind: 'visited-set', maxAgeSeconds: MAX_AGE_SECONDS, capacity: LEASED, errorRate: 0.1 },
    });
    await discover(store, filter, items(LEASED));
    while ((await store.queue.lease(filter, 1_000, 600_000, made())).length > 0);
    const [key] = await client.keys(`unseen:{${filter.generation}.*:hidden:0`);
    const epoch = Math.floor(clock.now() / epochMs(MAX_AGE_SECONDS)) + 5;
    for (let n = 0; n < HIDDEN; n++) await client.zadd(key!, epoch, randomBytes(16));
    const watched = proxy.watchFrames();
    let hidden = 0;
    let queued = 0;
    for await (const part of store.transfer.export(filter)) {
      if (part.type === 'hidden') hidden += part.items.length;
      if (part.type === 'queue') queued += part.entries.length;
    }
    const { reply } = watched();
    expect(hidden).toBe(HIDDEN);
    expect(queued).toBeGreaterThan(LEASED / 2);
    expect(Math.max(...reply)).toBeLessThan(MOST_BYTES);
  });

  it('reads lanes of hosts in slices, even if all became due at the same time', async () => {
    const filter = await makeFilter(store, hostOptions({ maxUrls: 1 }, { capacity: HOSTS }));
    const names = Array.from({ length: HOSTS }, (_, n) => `h${n}`);
    await discover(
      store,
      filter,
      names.flatMap((name) => urls(name, 1)),
    );
    const [due] = await client.keys(`unseen:{${filter.generation}.*:queue:due`);
    const turns = await client.zrangeBuffer(due!, '1', '-1');
    expect(turns).toHaveLength(HOSTS);
    for (const turn of turns) await client.zadd(due!, 1, turn);
    const watched = proxy.watchFrames();
    const found: string[] = [];
    for await (const part of store.transfer.export(filter)) {
      if (part.type === 'queue') found.push(...(part.hosts ?? []).map(({ name }) => name));
    }
    const { reply } = watched();
    expect(found).toEqual(names.map((name) => `${name}.example`));
    expect(Math.max(...reply)).toBeLessThan(MOST_BYTES);
  });

  it('is refused by a store with a lower limit on hosts', async () => {
    const filter = await makeFilter(store, hostOptions({ maxUrls: 1 }));
    await discover(store, filter, [...urls('a', 1), ...urls('b', 1), ...urls('c', 1)]);
    const file = await exportFile(store, filter);
    const options = { url: `redis://127.0.0.1:${proxy.port}`, timeoutMs: 10_000, clock };
    const small = await RedisStore.open({ ...options, maxHosts: 2 });
    const before = (await client.keys('*')).sort();
    await expectRefusal(importFile(small, file, made(), `${filter.name}.to`), 'STORE_FULL');
    expect((await client.keys('*')).sort()).toEqual(before);
    await small.close();
  });
});
