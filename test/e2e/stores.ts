import { startApp, type TestApp } from '../support/app.js';
import { currentLane } from '../support/lanes.mjs';
import { startRedis } from '../support/redis-server.js';

/** The service on one of its stores. */
export interface Fixture {
  readonly name: string;
  start(env?: Readonly<Record<string, string>>): Promise<TestApp>;
}

/** For `describe.each`, where the service does not do the same on both stores. */
export const BOTH_STORES: readonly Fixture[] = [
  { name: 'embedded', start: (env) => startApp(env) },
  {
    name: 'redis',
    async start(env) {
      const redis = await startRedis();
      const app = await startApp({ ...env, REDIS_URL: redis.url });
      return {
        ...app,
        async close() {
          await app.close();
          await redis.stop();
        },
      };
    },
  },
];

/**
 * For `describe.each`: what is true over HTTP must be true on both stores. `npm test` runs these suites on the embedded
 * store only, because test/contract proves the same of both stores.
 */
export const STORES = currentLane() === 'core' ? BOTH_STORES.slice(0, 1) : BOTH_STORES;
