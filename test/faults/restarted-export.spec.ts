import { describe, expect, it } from '@jest/globals';
import { RedisStore } from '#store/redis';
import { discover, items, made, makeFilter } from '../contract/calls.js';
import { startRedis } from '../support/redis-server.js';

const URLS = 3_000;

describe('Redis, restarted while a queue is exported', () => {
  it.each(['waiting', 'leased'])('costs the export no %s entry: a scan starts again', async (state) => {
    const args = ['--appendonly', 'yes', '--appendfsync', 'always'];
    const server = await startRedis({ args });
    const store = await RedisStore.open({ url: server.url, timeoutMs: 20_000 });
    try {
      const filter = await makeFilter(store, { kind: 'visited-set', capacity: URLS, errorRate: 1e-9 });
      const urls = items(URLS);
      await discover(store, filter, urls);
      if (state === 'leased')
        for (let left = URLS; left > 0;)
          left -= (await store.queue.lease(filter, left, 600_000, made())).length;
      const exported = new Set<string>();
      let restarts = 0;
      for await (const part of store.transfer.export(filter)) {
        if (part.type !== 'queue') continue;
        for (const { payload } of part.entries) exported.add(Buffer.from(payload).toString());
        if (restarts++ === 0) await server.restart();
      }
      expect(restarts).toBeGreaterThan(2);
      expect(urls.filter((url) => !exported.has(url))).toEqual([]);
    } finally {
      await store.close();
      await server.stop();
    }
  });
});
