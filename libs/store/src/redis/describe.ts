import { segmentBytes } from '#bloom';
import type { FilterStats } from '../store.js';
import type { Catalogue } from './catalogue.js';
import type { Connection } from './connection.js';
import type { RedisFilter } from './filter.js';
import { describeScript } from './scripts/segment.js';

/** Counts of a filter: the sums over its segments. */
export async function describeFilter(
  connection: Connection,
  catalogue: Catalogue,
  filter: RedisFilter,
  timeoutMs: number,
): Promise<FilterStats> {
  const deadline = Date.now() + timeoutMs;
  const bytes = segmentBytes(filter.geometry);
  const rows = await Promise.all(
    filter.segments.map(async ({ cells, meta, queueOrder }) => {
      const keys = filter.queued ? [cells, meta, queueOrder] : [cells, meta];
      const reply = await connection.run(describeScript, keys, [filter.generation, bytes], deadline);
      if (reply === 'LOST') throw await catalogue.explainLoss(filter);
      return readRow(reply, filter.queued);
    }),
  );
  const sum = (key: keyof Row) => rows.reduce((total, row) => total + row[key], 0);
  rows.forEach((row, segment) => (filter.itemsSeen[segment] = row.items));
  const windowSeconds = (key: 'callerSince' | 'madeSince') =>
    Math.min(...rows.map((row) => Math.max(0, row.now - row[key]) / 1000));
  const waiting = sum('waiting');
  return {
    items: sum('items'),
    nonZeroCells: sum('nonZero'),
    saturatedCells: filter.type === 'counting' ? sum('saturated') : 0,
    added: sum('added'),
    duplicate: sum('duplicate'),
    removed: sum('removed'),
    refused: sum('refused'),
    ...(filter.queued ? { queue: { waiting, leased: sum('queued') - waiting } } : {}),
    recordWindowSeconds: { caller: windowSeconds('callerSince'), made: windowSeconds('madeSince') },
  };
}

interface Row {
  readonly now: number;
  readonly items: number;
  readonly nonZero: number;
  readonly saturated: number;
  readonly added: number;
  readonly duplicate: number;
  readonly removed: number;
  readonly refused: number;
  readonly callerSince: number;
  readonly madeSince: number;
  readonly waiting: number;
  readonly queued: number;
}

function readRow(reply: unknown, queued: boolean): Row {
  const numbers = Array.isArray(reply) ? reply : [];
  if (numbers.length !== (queued ? 12 : 10) || !numbers.every((n) => typeof n === 'number')) {
    throw new Error(`unexpected reply of a script: ${String(reply).slice(0, 80)}`);
  }
  const [now, items, nonZero, saturated, added, duplicate, removed, refused, callerSince, madeSince] =
    numbers as [number, number, number, number, number, number, number, number, number, number];
  const [waiting = 0, all = 0] = numbers.slice(10) as number[];
  return {
    ...{ now, items, nonZero, saturated, added, duplicate, removed, refused, callerSince, madeSince },
    waiting,
    queued: all,
  };
}
