import { FilterClient } from './filter-client.js';
import type { RedisInstance } from './redis-instance.js';
import { atLeast, atMost, type Row } from './row.js';
import { LARGE_SIZE, sizeName } from './sizes.js';

/** The memory of the fingerprint set in Redis, with which filters are compared. */
export interface SetMemory {
  readonly items: number;
  readonly bytes: number;
}

const SMALLER_THAN_SET = 12;

export function referenceMemoryRow({ items, bytes }: SetMemory): Row {
  return {
    name: 'reference/set-of-sha1-memory',
    bytesPerItem: bytes / items,
    figures: [{ name: 'items', value: items, unit: '' }],
  };
}

/** The memory of a filter for 10^7 items in Redis. If `set` is given, compares both per item. */
export async function memoryRow(
  redis: RedisInstance,
  port: number,
  errorRate: number,
  set?: SetMemory,
): Promise<Row> {
  const rate = errorRate.toExponential();
  const client = new FilterClient(port, `memory-${rate}`, 1);
  const usedBefore = await redis.usedMemory();
  const { memoryBytes } = await client.create(LARGE_SIZE, errorRate);
  const used = (await redis.usedMemory()) - usedBefore;
  client.close();
  const beyond = atMost('used_memory beyond the cells', (100 * (used - memoryBytes)) / memoryBytes, 3, '%');
  const bytesPerItem = used / LARGE_SIZE;
  const times = set === undefined ? NaN : set.bytes / set.items / bytesPerItem;
  return {
    name: `redis-${rate}/memory-${sizeName(LARGE_SIZE)}`,
    bytesPerItem,
    figures: [
      { name: 'cells', value: memoryBytes / 1e6, unit: 'MB' },
      { name: 'bits per item', value: (memoryBytes * 8) / LARGE_SIZE, unit: '' },
    ],
    targets: [
      beyond,
      ...(set === undefined
        ? []
        : [atLeast('memory of the SHA-1 set, relative to this', times, SMALLER_THAN_SET, '×')]),
    ],
  };
}
