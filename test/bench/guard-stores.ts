import type { Costs } from './guard-limits.js';
import type { GuardGroup } from './guard-run.js';
import type { Workers } from './measured.js';
import { RedisInstance, redisVersion } from './redis-instance.js';
import type { CpuPerItem } from './row.js';
import { withService } from './service.js';

/** Where a group is measured. */
export interface Place {
  readonly store: 'embedded' | 'redis';
  readonly port: number;
  readonly workers: Workers;
  /** The process whose CPU counts: the service with the embedded store, otherwise Redis. */
  readonly part: keyof CpuPerItem;
}

/** A group of rows for a service on each store. */
export function onEachStore(
  name: string,
  rowsOf: (store: Place['store']) => readonly string[],
  measure: (place: Place) => Promise<Costs>,
): GuardGroup[] {
  return [
    {
      name: `embedded, ${name}`,
      rows: rowsOf('embedded'),
      measure: () =>
        withService({}, ({ port, pid }) =>
          measure({ store: 'embedded', port, workers: { servicePid: pid }, part: 'service' }),
        ),
    },
    {
      name: `redis, ${name}`,
      rows: rowsOf('redis'),
      unavailable: () => (redisVersion() === undefined ? 'there is no redis-server here' : undefined),
      async measure() {
        const server = await RedisInstance.start();
        const workers = { serverMicros: () => server.cpuMicros() };
        try {
          return await withService({ env: { REDIS_URL: server.url } }, ({ port }) =>
            measure({ store: 'redis', port, workers, part: 'server' }),
          );
        } finally {
          await server.stop();
        }
      },
    },
  ];
}
