import { startApp, type TestApp } from '../support/app.js';
import { currentLane } from '../support/lanes.mjs';
import { startRedis } from '../support/redis-server.js';

/** A service on one of the stores. */
export interface Fixture {
  readonly name: string;
  start(env?: Readonly<Record<string, string>>): Promise<TestApp>;
}

/** For `describe.each` where the stores behave differently. */
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
 * For `describe.each` where both stores must behave the same. `npm test` runs these suites on the embedded store only,
 * because test/contract checks the same on both stores.
 */
export const STORES = currentLane() === 'core' ? BOTH_STORES.slice(0, 1) : BOTH_STORES;
