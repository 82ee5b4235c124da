import { segmentBytes } from '#bloom';
import { joinAll } from '../join-all.js';
import { retainedSeconds } from '../retention.js';
import type { FilterStats } from '../store.js';
import type { Catalogue } from './catalogue.js';
import type { Connection } from './connection.js';
import type { RedisFilter } from './filter.js';
import { describeScript } from './scripts/segment.js';

/** The counts of a filter: the sums over its segments. */
export async function describeFilter(
  connection: Connection,
  catalogue: Catalogue,
  filter: RedisFilter,
  timeoutMs: number,
): Promise<FilterStats> {
  const deadline = Date.now() + timeoutMs;
  const bytes = segmentBytes(filter.geometry);
  const rows = await joinAll(
    filter.segments.map(async ({ cells, meta, queueOrder }) => {
      const keys = filter.queued ? [cells, meta, queueOrder] : [cells, meta];
      const reply = await connection.run(describeScript, keys, [filter.generation, bytes], deadline);
      if (reply === 'LOST') throw await catalogue.explainLoss(filter);
      return readRow(reply, filter.queued);
    }),
  );
  const sum = (key: keyof Row) => rows.reduce((total, row) => total + row[key], 0);
  rows.forEach((row, segment) => (filter.itemsSeen[segment] = row.items));
  const windowSeconds = (origin: 'caller' | 'made') =>
    Math.min(...rows.map((row) => retainedSeconds(origin, keptMs(row, origin))));
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
    recordWindowSeconds: { caller: windowSeconds('caller'), made: windowSeconds('made') },
  };
}

/** The numbers that the script answers, in order. The last two are answered for visited sets only. */
const COLUMNS = [
  ...(['now', 'items', 'nonZero', 'saturated', 'added', 'duplicate', 'removed', 'refused'] as const),
  ...(['callerSince', 'madeSince', 'waiting', 'queued'] as const),
];

type Row = Readonly<Record<(typeof COLUMNS)[number], number>>;

function keptMs(row: Row, origin: 'caller' | 'made'): number | undefined {
  const since = row[`${origin}Since`];
  return since === 0 ? undefined : row.now - since;
}

function readRow(reply: unknown, queued: boolean): Row {
  const numbers: unknown[] = Array.isArray(reply) ? reply : [];
  if (numbers.length !== (queued ? COLUMNS.length : COLUMNS.length - 2)) {
    throw new Error(`unexpected reply of a script: ${String(reply).slice(0, 80)}`);
  }
  return Object.fromEntries(COLUMNS.map((name, n) => [name, Number(numbers[n] ?? 0)])) as unknown as Row;
}
