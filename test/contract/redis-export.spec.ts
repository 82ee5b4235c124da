import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RedisStore } from '#store/redis';
import { Redis } from 'ioredis';
import { epochMs } from '../../libs/store/src/age.js';
import { clock } from '../support/clock.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { discover, items, made, makeFilter } from './calls.js';

const MAX_AGE_SECONDS = 86_400;
const HIDDEN = 5_000;
const LEASED = 5_000;
/** Bytes of a thousand entries or hidden items, more than any command of an export returns. The cells have fewer. */
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

  it('reads hidden items and entries in slices, however many there are', async () => {
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
});
