import { piecesOf, segmentBytes } from '#bloom';
import { joinAll } from '../join-all.js';
import { retainedSeconds } from '../retention.js';
import type { FilterStats, LayerStats, QueueStats } from '../store.js';
import type { Catalogue } from './catalogue.js';
import type { Connection } from './connection.js';
import type { RedisFilter } from './filter.js';
import { pieceKeys, queueKeys, type SegmentKeys } from './keys.js';
import {
  describeLayersScript,
  describeQueueLayersScript,
  describeQueueScript,
  describeScript,
} from './scripts/segment.js';

/** The counts of a filter: the sums over its segments. */
export async function describeFilter(
  connection: Connection,
  catalogue: Catalogue,
  filter: RedisFilter,
  timeoutMs: number,
): Promise<FilterStats> {
  const rows = await readRows(connection, catalogue, filter, timeoutMs, filter.queued);
  const sum = (key: keyof Numbers) => rows.reduce((total, row) => total + row[key], 0);
  const windowSeconds = (origin: 'caller' | 'made') =>
    Math.min(...rows.map((row) => retainedSeconds(origin, keptMs(row, origin))));
  const layers = Array.from({ length: filter.made }, (_, layer) =>
    layerStats(
      filter,
      rows.map((row) => row.layers[layer]),
    ),
  );
  const all = (count: keyof LayerStats) => layers.reduce((total, layer) => total + layer[count], 0);
  return {
    items: all('items'),
    nonZeroCells: all('nonZeroCells'),
    saturatedCells: all('saturatedCells'),
    layers,
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
  const grows = filter.layers !== undefined;
  const script = queued
    ? grows
      ? describeQueueLayersScript
      : describeQueueScript
    : grows
      ? describeLayersScript
      : describeScript;
  const later = (filter.layers?.length ?? 1) - 1;
  const rows = await joinAll(
    filter.segments.map(async (segment) => {
      const { cells, meta } = segment;
      const pieces = piecesToCheck(filter, segment);
      const keys = [cells, meta, ...(queued ? queueKeys(segment) : []), ...pieces.keys];
      const args = [
        filter.generation,
        segmentBytes(filter.geometry),
        ...(grows ? [later, ...pieces.args] : []),
      ];
      const reply = await connection.run(script, keys, args, deadline);
      if (reply === 'LOST') throw await catalogue.explainLoss(filter);
      return readRow(reply, queued);
    }),
  );
  rows.forEach(({ open, layers }, segment) =>
    filter.saw(
      segment,
      open,
      layers.map(({ items }) => items),
    ),
  );
  return rows;
}

/** Keys of all layers but the first, as far as they are known, and of each the bytes of a piece and how many it has. */
function piecesToCheck(filter: RedisFilter, segment: SegmentKeys): { keys: string[]; args: number[] } {
  const keys: string[] = [];
  const args: number[] = [];
  for (const [n, layer] of (filter.layers ?? []).slice(1, filter.made).entries()) {
    const pieces = piecesOf(layer, filter.geometry);
    keys.push(...pieceKeys(segment, n + 1, pieces));
    args.push(segmentBytes(layer.geometry), pieces);
  }
  return { keys, args };
}

function layerStats(filter: RedisFilter, rows: readonly (LayerRow | undefined)[]): LayerStats {
  const sum = (key: keyof LayerRow) => rows.reduce((total, row) => total + (row?.[key] ?? 0), 0);
  return {
    items: sum('items'),
    nonZeroCells: sum('nonZero'),
    saturatedCells: filter.type === 'counting' ? sum('saturated') : 0,
  };
}

/** The numbers that the script answers, in its order, and those beside them for visited sets. */
const COLUMNS = [
  ...(['now', 'items', 'nonZero', 'saturated', 'added', 'duplicate', 'removed', 'refused'] as const),
  ...(['callerSince', 'madeSince'] as const),
];
const QUEUE_COLUMNS = ['waiting', 'leased', 'delayed', 'dead', 'forgotten', 'oldestSeconds'] as const;

type Numbers = Readonly<Record<(typeof COLUMNS)[number] | (typeof QUEUE_COLUMNS)[number], number>>;
type LayerRow = Pick<Numbers, 'items' | 'nonZero' | 'saturated'>;

interface Row extends Numbers {
  /** Of a filter that grows, the number of the segment's open layer. */
  readonly open: number | undefined;
  /** Of all layers that there may be. */
  readonly layers: readonly LayerRow[];
}

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
  const numbers: number[] = Array.isArray(reply) ? reply.map(Number) : [];
  const columns = queued ? [...COLUMNS, ...QUEUE_COLUMNS] : COLUMNS;
  const [open, ...counts] = numbers.splice(columns.length);
  if (numbers.length !== columns.length || counts.length % 3 !== 0) {
    throw new Error(`unexpected reply of a script: ${String(reply).slice(0, 80)}`);
  }
  const first = Object.fromEntries(columns.map((name, n) => [name, numbers[n]])) as unknown as Numbers;
  const layers: LayerRow[] = [first];
  for (let at = 0; at < counts.length; at += 3) {
    const [items = 0, nonZero = 0, saturated = 0] = counts.slice(at, at + 3);
    layers.push({ items, nonZero, saturated });
  }
  return { ...first, open, layers };
}
