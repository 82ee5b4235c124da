import type { Workers } from './measured.js';
import { RedisInstance, redisVersion } from './redis-instance.js';
import type { BenchOptions, Row } from './row.js';
import { withService } from './service.js';

/** Measures rows of a service on a store. */
export type RowsOf = (store: string, port: number, workers: Workers, options: BenchOptions) => Promise<Row[]>;

/** A service's rows on each store. If Redis is available, also the rows from `beside` on the same Redis. */
export async function onBothStores(
  options: BenchOptions,
  rowsOf: RowsOf,
  beside: (redis: RedisInstance) => Promise<Row[]> = () => Promise.resolve([]),
): Promise<Row[]> {
  const { profileDir } = options;
  const embedded = await withService({ profileDir }, ({ port, pid }) =>
    rowsOf('embedded', port, { servicePid: pid }, options),
  );
  if (redisVersion() === undefined) return embedded;
  const redis = await RedisInstance.start();
  try {
    const env = { REDIS_URL: redis.url };
    const rows = await withService({ env, profileDir }, ({ port, pid }) =>
      rowsOf('redis', port, { servicePid: pid, serverMicros: () => redis.cpuMicros() }, options),
    );
    return [...embedded, ...rows, ...(await beside(redis))];
  } finally {
    await redis.stop();
  }
}
