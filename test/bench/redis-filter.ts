import { noRounds } from './batch-rounds.js';
import { FilterClient, type FilterView } from './filter-client.js';
import type { RedisInstance } from './redis-instance.js';
import { atMost, type Row } from './row.js';
import type { Service } from './service.js';

const CAPACITY = 10_000_000;
/** Redis is the bottleneck: two keep it busy, more only wait. */
const REQUESTS_IN_FLIGHT = 2;

/** A filter in Redis, its rounds, and what it took of Redis' memory. */
export class RedisFilterBench {
  readonly rounds = noRounds();

  private constructor(
    readonly errorRate: string,
    readonly client: FilterClient,
    readonly memory: Row,
  ) {}

  static async create(redis: RedisInstance, service: Service, errorRate: string): Promise<RedisFilterBench> {
    const client = new FilterClient(service.port, `rate-${errorRate}`, REQUESTS_IN_FLIGHT);
    const usedBefore = await redis.usedMemory();
    const stringsBefore = await redis.stringsMemory();
    const view = await client.create(CAPACITY, Number(errorRate));
    const memory = memoryRow(errorRate, view, {
      used: (await redis.usedMemory()) - usedBefore,
      strings: (await redis.stringsMemory()) - stringsBefore,
    });
    return new RedisFilterBench(errorRate, client, memory);
  }
}

function memoryRow(errorRate: string, view: FilterView, taken: { used: number; strings: number }): Row {
  const over = (bytes: number) => (100 * (bytes - view.memoryBytes)) / view.memoryBytes;
  return {
    name: `redis-${errorRate}/memory-10^7`,
    figures: [
      { name: 'cells', value: view.memoryBytes / 1e6, unit: 'MB' },
      { name: 'bits an item', value: (view.memoryBytes * 8) / CAPACITY, unit: '' },
      { name: 'MEMORY USAGE beyond', value: over(taken.strings), unit: '%' },
    ],
    targets: [atMost('used_memory beyond the cells', over(taken.used), 3, '%')],
  };
}
