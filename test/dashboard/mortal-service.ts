import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { freePort, startRedis } from '../support/redis-server.js';
import { startProcess } from '../support/service-process.js';

/** A service that can be killed and restarted at the same address with the same data. */
export interface MortalService {
  readonly url: string;
  /** Lets `before` calls to a path pass. The service executes the next one, and is killed before it replies. */
  dieAfter(page: Page, path: string, before: number): Promise<void>;
  restart(): Promise<void>;
  /** Stops the service and deletes its data. */
  clean(): Promise<void>;
}

export async function startMortal(store: 'embedded' | 'redis'): Promise<MortalService> {
  const redis = store === 'redis' ? await startRedis() : undefined;
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'unseen-mortal-'));
  const env = { DATA_DIR, PORT: String(await freePort()), ...(redis && { REDIS_URL: redis.url }) };
  let service = await startProcess(env);
  const url = await service.url();
  return {
    url,
    dieAfter(page, path, before) {
      let calls = 0;
      return new Promise((resolve, reject) => {
        void page.route(`**${path}`, async (route) => {
          if (calls++ !== before) return route.continue();
          const answer = await route.fetch();
          if (!answer.ok()) reject(new Error(`the service has answered ${answer.status()}`));
          service.child.kill('SIGKILL');
          await service.exit();
          resolve();
          return route.abort();
        });
      });
    },
    async restart() {
      service = await startProcess(env);
      await service.url();
    },
    async clean() {
      await service.clean();
      await redis?.stop();
      await rm(DATA_DIR, { recursive: true, force: true });
    },
  };
}
