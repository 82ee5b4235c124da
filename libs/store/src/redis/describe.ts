import { segmentBytes } from '#bloom';
import { joinAll } from '../join-all.js';
import { retainedSeconds } from '../retention.js';
import type { FilterStats, QueueStats } from '../store.js';
import type { Catalogue } from './catalogue.js';
import type { Connection } from './connection.js';
import type { RedisFilter } from './filter.js';
import { queueKeys } from './keys.js';
import { describeQueueScript, describeScript } from './scripts/segment.js';

/** The counts of a filter: the sums over its segments. */
export async function describeFilter(
  connection: Connection,
  catalogue: Catalogue,
  filter: RedisFilter,
  timeoutMs: number,
): Promise<FilterStats> {
  const rows = await readRows(connection, catalogue, filter, timeoutMs, filter.queued);
  const sum = (key: keyof Row) => rows.reduce((total, row) => total + row[key], 0);
  const windowSeconds = (origin: 'caller' | 'made') =>
    Math.min(...rows.map((row) => retainedSeconds(origin, keptMs(row, origin))));
  return {
    items: sum('items'),
    nonZeroCells: sum('nonZero'),
    saturatedCells: filter.type === 'counting' ? sum('saturated') : 0,
    added: sum('added'),
    duplicate: sum('duplicate'),
    removed: sum('removed'),
    refused: sum('refused'),
    ...(filter.queued ? { queue: queueStats(rows) } : {}),
    recordWindowSeconds: { caller: windowSeconds('caller'), made: windowSeconds('made') },
  };
}

/** Has the filter know how many items its segments hold. */
export async function countItems(
  connection: Connection,
  catalogue: Catalogue,
  filter: RedisFilter,
  timeoutMs: number,
): Promise<void> {
  await readRows(connection, catalogue, filter, timeoutMs, false);
}

/** The counts of each segment, those of the queue if they are wanted. */
async function readRows(
  connection: Connection,
  catalogue: Catalogue,
  filter: RedisFilter,
  timeoutMs: number,
  queued: boolean,
): Promise<Row[]> {
  const deadline = Date.now() + timeoutMs;
  const bytes = segmentBytes(filter.geometry);
  const rows = await joinAll(
    filter.segments.map(async (segment) => {
      const { cells, meta } = segment;
      const keys = [cells, meta, ...(queued ? queueKeys(segment) : [])];
      const script = queued ? describeQueueScript : describeScript;
      const reply = await connection.run(script, keys, [filter.generation, bytes], deadline);
      if (reply === 'LOST') throw await catalogue.explainLoss(filter);
      return readRow(reply, queued);
    }),
  );
  rows.forEach((row, segment) => (filter.itemsSeen[segment] = row.items));
  return rows;
}

/** The numbers that the script answers, in its order, and those beside them for visited sets. */
const COLUMNS = [
  ...(['now', 'items', 'nonZero', 'saturated', 'added', 'duplicate', 'removed', 'refused'] as const),
  ...(['callerSince', 'madeSince'] as const),
];
const QUEUE_COLUMNS = ['waiting', 'leased', 'delayed', 'dead', 'forgotten', 'oldestSeconds'] as const;

type Row = Readonly<Record<(typeof COLUMNS)[number] | (typeof QUEUE_COLUMNS)[number], number>>;

function queueStats(rows: readonly Row[]): QueueStats {
  const sum = (key: keyof QueueStats) => rows.reduce((total, row) => total + row[key], 0);
  const oldestSeconds = Math.max(...rows.map((row) => row.oldestSeconds));
  return {
    waiting: sum('waiting'),
    leased: sum('leased'),
    delayed: sum('delayed'),
    dead: sum('dead'),
    forgotten: sum('forgotten'),
    ...(oldestSeconds >= 0 && { oldestSeconds }),
  };
}

function keptMs(row: Row, origin: 'caller' | 'made'): number | undefined {
  const since = row[`${origin}Since`];
  return since === 0 ? undefined : row.now - since;
}

function readRow(reply: unknown, queued: boolean): Row {
  const numbers: unknown[] = Array.isArray(reply) ? reply : [];
  const columns = queued ? [...COLUMNS, ...QUEUE_COLUMNS] : COLUMNS;
  if (numbers.length !== columns.length) {
    throw new Error(`unexpected reply of a script: ${String(reply).slice(0, 80)}`);
  }
  return Object.fromEntries(columns.map((name, n) => [name, Number(numbers[n])])) as unknown as Row;
}
