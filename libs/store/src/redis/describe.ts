import { cellCount, type Layer, segmentBytes } from '#bloom';
import { CYCLE, epochMs, Expiring, itemsByEpoch, itemsFromCells } from '../age.js';
import { deadlineIn } from '../clock.js';
import { joinAll } from '../join-all.js';
import { retainedSeconds } from '../retention.js';
import type { AgeStats, FilterStats, LayerStats, QueueStats } from '../store.js';
import type { Connection } from './connection.js';
import type { RedisFilter } from './filter.js';
import { hiddenKey, layerKeys, queueKeys, type SegmentKeys } from './keys.js';
import {
  describeAgedScript,
  describeLayersScript,
  describeQueueLayersScript,
  describeQueueScript,
  describeScript,
} from './scripts/segment.js';
import type { Views } from './views.js';

/** The counts of a filter: the sums over its segments. */
export async function describeFilter(
  connection: Connection,
  views: Views,
  filter: RedisFilter,
  timeoutMs: number,
): Promise<FilterStats> {
  const rows = await readRows(connection, views, filter, timeoutMs, filter.queued);
  const sum = (key: keyof Numbers) => rows.reduce((total, row) => total + row[key], 0);
  const windowSeconds = (origin: 'caller' | 'made') =>
    Math.min(...rows.map((row) => retainedSeconds(origin, keptMs(row, origin))));
  const layers = Array.from({ length: filter.list.made }, (_, layer) =>
    layerStats(
      filter,
      filter.list.plan[layer] as Layer,
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
    ...(filter.maxAgeSeconds === undefined ? {} : { age: ageStats(filter, filter.maxAgeSeconds, rows) }),
    recordWindowSeconds: { caller: windowSeconds('caller'), made: windowSeconds('made') },
  };
}

/** Has the filter know how many items its segments hold. */
export async function countItems(
  connection: Connection,
  views: Views,
  filter: RedisFilter,
  timeoutMs: number,
): Promise<void> {
  await readRows(connection, views, filter, timeoutMs, false);
}

/** The counts of each segment, those of the queue if they are wanted. */
async function readRows(
  connection: Connection,
  views: Views,
  filter: RedisFilter,
  timeoutMs: number,
  queued: boolean,
): Promise<Row[]> {
  const deadline = deadlineIn(timeoutMs);
  const ages = filter.maxAgeSeconds !== undefined;
  // The scripts without layers look at one key of cells only.
  const grows = filter.layers !== undefined || filter.list.piecesOf(0) > 1;
  const script = ages
    ? describeAgedScript
    : queued
      ? grows
        ? describeQueueLayersScript
        : describeQueueScript
      : grows
        ? describeLayersScript
        : describeScript;
  const later = filter.list.plan.length - 1;
  const rows = await joinAll(
    filter.segments.map(async (keysOf, segment) => {
      for (let view = filter.viewOf(segment); ;) {
        const pieces = piecesToCheck(filter, keysOf);
        const queue = queued || ages ? queueKeys(keysOf) : [];
        const hidden = ages ? [hiddenKey(keysOf, filter.base)] : [];
        const keys = [keysOf.cells, keysOf.meta, ...queue, ...hidden, ...pieces.keys];
        const head = [view.token, filter.pieceBytes];
        const args = ages
          ? [later, epochMs(filter.maxAgeSeconds), ...pieces.args]
          : grows
            ? [later, ...pieces.args]
            : [];
        const reply = await connection.run(script, keys, [...head, ...args], deadline);
        if (reply !== 'LOST') return ages ? readAgedRow(reply, filter) : readRow(reply, queued);
        view = await views.look(view, deadline);
      }
    }),
  );
  rows.forEach(({ open, layers }, segment) =>
    filter.list.saw(
      segment,
      open,
      layers.map(({ items }) => items),
    ),
  );
  return rows;
}

/**
 * Keys of all layers, as far as they are known, and of each the bytes of a piece and how many it has. Not of the first, unless it has
 * several.
 */
function piecesToCheck({ list }: RedisFilter, segment: SegmentKeys): { keys: string[]; args: number[] } {
  const keys: string[] = [];
  const args: number[] = [];
  for (const [layer, { geometry }] of list.known.entries()) {
    const pieces = list.piecesOf(layer);
    if (layer === 0 && pieces === 1) continue;
    keys.push(...layerKeys(segment, { number: list.base + layer, pieces }));
    args.push(segmentBytes(geometry), pieces);
  }
  return { keys, args };
}

function layerStats(
  filter: RedisFilter,
  { geometry }: Layer,
  rows: readonly (LayerRow | undefined)[],
): LayerStats {
  const sum = (key: keyof LayerRow) => rows.reduce((total, row) => total + (row?.[key] ?? 0), 0);
  const ages = filter.maxAgeSeconds !== undefined;
  return {
    // Estimated from the cells of all segments, so that the rounding of each does not add up.
    items: ages ? itemsFromCells(sum('nonZero'), cellCount(geometry), geometry) : sum('items'),
    nonZeroCells: sum('nonZero'),
    saturatedCells: filter.type === 'counting' ? sum('saturated') : 0,
  };
}

/** The time of a filter that ages. Segments in which nothing was changed of late follow the latest. */
function ageStats({ list }: RedisFilter, maxAgeSeconds: number, rows: readonly Row[]): AgeStats {
  const epoch = Math.max(...rows.map(({ age }) => age?.epoch ?? 0));
  const hidden = rows.reduce((sum, { age }) => sum + (age?.hidden ?? 0), 0);
  const expiring = list.plan.map(({ geometry }, layer) => {
    const all = Expiring.of(epoch);
    for (const { age } of rows) {
      const later = Expiring.of(age?.epoch ?? 0, age?.cells[layer]).at(epoch);
      for (const [left, cells] of later.toArray().entries()) all.count(left, cells);
    }
    return { items: itemsFromCells(all.live, cellCount(geometry), geometry), cells: all.toArray() };
  });
  return { epoch, epochMs: epochMs(maxAgeSeconds), items: itemsByEpoch(expiring), hidden };
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
  /** Of a filter that ages; the cells of each layer by their last epoch. */
  readonly age?: {
    readonly epoch: number;
    readonly hidden: number;
    readonly cells: readonly (readonly number[])[];
  };
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

function readAgedRow(reply: unknown, { list }: RedisFilter): Row {
  const numbers: number[] = Array.isArray(reply) ? reply.map(Number) : [];
  const columns = [...COLUMNS, ...QUEUE_COLUMNS];
  const [open = 0, epoch = 0, hidden = 0, ...counts] = numbers.splice(columns.length);
  if (numbers.length !== columns.length || counts.length !== list.plan.length * (CYCLE + 1)) {
    throw new Error(`unexpected reply of a script: ${String(reply).slice(0, 80)}`);
  }
  const cells: number[][] = [];
  const layers = list.plan.map(({ geometry }, layer): LayerRow => {
    const [saturated = 0, ...ring] = counts.slice(layer * (CYCLE + 1), (layer + 1) * (CYCLE + 1));
    cells.push(ring);
    const nonZero = ring.reduce((sum, one) => sum + one, 0);
    return { items: itemsFromCells(nonZero, list.cellsOf(layer), geometry), nonZero, saturated };
  });
  const row = Object.fromEntries(columns.map((name, n) => [name, numbers[n]])) as unknown as Numbers;
  return { ...row, open, layers, age: { epoch, hidden, cells } };
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
