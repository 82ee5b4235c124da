import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Filter } from '#store';
import { startApp, type TestApp } from './app.js';
import { damageBlock } from './embedded-damage.js';
import { startRedis } from './redis-server.js';
import { cellsPattern } from './stores.js';

/** A service, and a way to delete a filter's cells behind its back. */
export interface LosingService {
  /** Replaced by a restarted service after a loss. */
  app: TestApp;
  /** Deletes the cells of segment 0, the only segment of a small filter. */
  lose(filter: Pick<Filter, 'name' | 'generation'>): Promise<void>;
  stop(): Promise<void>;
}

/** For `describe.each`: one service on each store. */
export const LOSING: readonly (readonly [string, () => Promise<LosingService>])[] = [
  ['embedded', onEmbedded],
  ['redis', onRedis],
];

async function onEmbedded(): Promise<LosingService> {
  const dataDir = await mkdtemp(join(tmpdir(), 'unseen-lost-'));
  const service: LosingService = {
    app: await startApp({ DATA_DIR: dataDir }),
    async lose(filter) {
      await service.app.close();
      await damageBlock(dataDir, filter, 0, 'missing');
      service.app = await startApp({ DATA_DIR: dataDir });
    },
    async stop() {
      await service.app.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  return service;
}

async function onRedis(): Promise<LosingService> {
  const redis = await startRedis();
  const client = new Redis(redis.port, '127.0.0.1');
  const app = await startApp({ REDIS_URL: redis.url });
  return {
    app,
    async lose(filter) {
      const deleted = await client.del(await client.keys(cellsPattern(filter, 0)));
      if (deleted !== 1) throw new Error(`${filter.name} has ${deleted} keys of cells`);
    },
    async stop() {
      await app.close();
      client.disconnect();
      await redis.stop();
    },
  };
}
