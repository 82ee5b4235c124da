import { segmentBytes } from '#bloom';
import { CYCLE, epochMs, Expiring, itemsByEpoch, itemsFromCells } from '../../age.js';
import { deadlineIn } from '../../clock.js';
import { joinAll } from '../../join-all.js';
import { retainedSeconds } from '../../retention.js';
import type { AgeStats, FilterStats, HostStats, LayerStats, QueueStats } from '../../port/index.js';
import type { Connection } from '../connection/connection.js';
import type { RedisFilter } from '../layout/filter.js';
import { hiddenKey, layerKeys, queueKeys, type SegmentKeys } from '../layout/keys.js';
import {
  AGE_COLUMNS,
  COLUMNS,
  type DescribeTask,
  describeScript,
  HOST_COLUMNS,
  LAYER_COLUMNS,
  QUEUE_COLUMNS,
} from '../scripts/describe.js';
import type { Script } from '../scripts/script.js';
import type { Views } from '../catalogue/views.js';

interface Described {
  /** Sums over the segments. */
  readonly stats: FilterStats;
  /** The segments whose queues need a sweep. */
  readonly unswept: readonly number[];
  /** True if scheduled entries that a commit has left behind must still be removed. */
  readonly late: boolean;
}

/** Counts a filter. */
export async function describeFilter(
  connection: Connection,
  views: Views,
  filter: RedisFilter,
  timeoutMs: number,
  hosts = false,
): Promise<Described> {
  const rows = await readRows(connection, views, filter, timeoutMs, filter.queued);
  const sum = (key: keyof Numbers) => rows.reduce((total, row) => total + row[key], 0);
  const windowSeconds = (origin: 'caller' | 'made') =>
    Math.min(...rows.map((row) => retainedSeconds(origin, keptMs(row, origin))));
  const layers = Array.from({ length: filter.stack.made }, (_, layer) =>
    layerStats(
      filter,
      layer,
      rows.map((row) => row.layers[layer]),
    ),
  );
  const all = (count: keyof LayerStats) => layers.reduce((total, layer) => total + layer[count], 0);
  const stats = {
    items: all('items'),
    nonZeroCells: all('nonZeroCells'),
    saturatedCells: all('saturatedCells'),
    layers,
    added: sum('added'),
    duplicate: sum('duplicate'),
    removed: sum('removed'),
    refused: sum('refused'),
    ...(filter.queued ? { queue: queueStats(rows) } : {}),
    ...(hosts && filter.perHost ? { hosts: hostStats(rows) } : {}),
    ...(filter.maxAgeSeconds === undefined ? {} : { age: ageStats(filter, filter.maxAgeSeconds, rows) }),
    recordWindowSeconds: { caller: windowSeconds('caller'), made: windowSeconds('made') },
  };
  const unswept = [...rows.keys()].filter((segment) => rows[segment]?.unswept === 1);
  return { stats, unswept, late: rows.some(({ late }) => late === 1) };
}

/** Updates the number of items that the filter knows for each segment. */
export async function countItems(
  connection: Connection,
  views: Views,
  filter: RedisFilter,
  timeoutMs: number,
): Promise<void> {
  await readRows(connection, views, filter, timeoutMs, false);
}

/** Each segment's counts. With `queued`, also its queue's counts. */
async function readRows(
  connection: Connection,
  views: Views,
  filter: RedisFilter,
  timeoutMs: number,
  queued: boolean,
): Promise<Row[]> {
  const deadline = deadlineIn(timeoutMs);
  const { plan } = filter.stack;
  const hosts = queued && filter.perHost !== undefined;
  const task = { queued, hosts, ages: filter.maxAgeSeconds !== undefined };
  const length = filter.maxAgeSeconds === undefined ? 0 : epochMs(filter.maxAgeSeconds);
  const rows = await joinAll(
    filter.segments.map(async (keysOf, segment) => {
      for (let view = filter.viewOf(segment); ;) {
        const pieces = piecesToCheck(filter, keysOf);
        const hidden = task.ages ? [hiddenKey(keysOf, filter.base)] : [];
        const keys = [
          keysOf.cells,
          keysOf.meta,
          ...(queued ? queueKeys(keysOf) : []),
          ...hidden,
          ...pieces.keys,
        ];
        const args = [view.token, filter.pieceBytes, plan.length, length, ...pieces.args];
        const reply = await connection.run(scriptOf(task), keys, args, deadline);
        if (reply !== 'LOST') return readRow(reply, filter, task);
        view = await views.look(view, deadline);
      }
    }),
  );
  rows.forEach(({ open, layers }, segment) =>
    filter.stack.saw(
      segment,
      open,
      layers.map(({ items }) => items),
    ),
  );
  return rows;
}

const SCRIPTS = [false, true].flatMap((ages) =>
  (
    [
      { queued: false, hosts: false },
      { queued: true, hosts: false },
      { queued: true, hosts: true },
    ] as const
  ).map((queue) => ({ ...queue, ages, script: describeScript({ ...queue, ages }) })),
);

function scriptOf({ queued, hosts, ages }: DescribeTask): Script {
  const isIt = (one: DescribeTask) => one.queued === queued && one.hosts === hosts && one.ages === ages;
  return SCRIPTS.find(isIt)?.script as Script;
}

/**
 * Keys of all known layers, and for each layer its number, the bytes of a piece and the number of pieces. Omits a first
 * layer with a single piece.
 */
function piecesToCheck({ stack }: RedisFilter, segment: SegmentKeys): { keys: string[]; args: number[] } {
  const keys: string[] = [];
  const args: number[] = [];
  for (const [layer, { geometry }] of stack.layers.entries()) {
    const pieces = stack.piecesOf(layer);
    if (layer === 0 && pieces === 1) continue;
    keys.push(...layerKeys(segment, { number: stack.base + layer, pieces }));
    args.push(layer, segmentBytes(geometry), pieces);
  }
  return { keys, args };
}

function layerStats(
  { stack, maxAgeSeconds, type }: RedisFilter,
  layer: number,
  rows: readonly (LayerRow | undefined)[],
): LayerStats {
  const sum = (key: keyof LayerRow) => rows.reduce((total, row) => total + (row?.[key] ?? 0), 0);
  const ages = maxAgeSeconds !== undefined;
  const live = rows.map((row) => row?.nonZero ?? 0);
  return {
    items: ages ? stack.itemsFromCells(layer, live) : sum('items'),
    nonZeroCells: sum('nonZero'),
    saturatedCells: type === 'counting' ? sum('saturated') : 0,
  };
}

/** A filter's ages. Advances segments without recent changes to the latest epoch. */
function ageStats({ stack }: RedisFilter, maxAgeSeconds: number, rows: readonly Row[]): AgeStats {
  const epoch = Math.max(...rows.map(({ age }) => age?.epoch ?? 0));
  const hidden = rows.reduce((sum, { age }) => sum + (age?.hidden ?? 0), 0);
  const expiring = stack.plan.map((_, layer) => {
    const all = Expiring.of(epoch);
    const live = rows.map(({ age }) => {
      const later = Expiring.of(age?.epoch ?? 0, age?.cells[layer]).at(epoch);
      for (const [left, cells] of later.toArray().entries()) all.count(left, cells);
      return later.live;
    });
    return { items: stack.itemsFromCells(layer, live), cells: all.toArray() };
  });
  return { epoch, epochMs: epochMs(maxAgeSeconds), items: itemsByEpoch(expiring), hidden };
}

type Numbers = Readonly<
  Record<(typeof COLUMNS)[number] | (typeof QUEUE_COLUMNS)[number] | (typeof HOST_COLUMNS)[number], number>
>;
type LayerRow = Readonly<Record<(typeof LAYER_COLUMNS)[number], number>>;

interface Row extends Numbers {
  /** The number of the segment's open layer. */
  readonly open: number;
  /** All layers of the plan. */
  readonly layers: readonly LayerRow[];
  /** Only if the filter ages. `cells` has each layer's cells by their last epoch. */
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
    scheduled: sum('scheduled'),
    dead: sum('dead'),
    forgotten: sum('forgotten'),
    ...(oldestSeconds >= 0 && { oldestSeconds }),
  };
}

function hostStats(rows: readonly Row[]): HostStats {
  const sum = (key: (typeof HOST_COLUMNS)[number]) => rows.reduce((total, row) => total + row[key], 0);
  return { known: sum('hosts'), due: sum('dueHosts'), blocked: sum('blockedHosts') };
}

function keptMs(row: Row, origin: 'caller' | 'made'): number | undefined {
  const since = row[`${origin}Since`];
  return since === 0 ? undefined : row.now - since;
}

function readRow(reply: unknown, { stack }: RedisFilter, { queued, hosts, ages }: DescribeTask): Row {
  const numbers: number[] = Array.isArray(reply) ? reply.map(Number) : [];
  const columns = [
    ...COLUMNS,
    ...(queued ? QUEUE_COLUMNS : []),
    ...(hosts ? HOST_COLUMNS : []),
    ...(ages ? AGE_COLUMNS : []),
    'open' as const,
  ];
  const width = LAYER_COLUMNS.length + (ages ? CYCLE : 0);
  if (numbers.length !== columns.length + stack.plan.length * width) {
    throw new Error(`unexpected reply from a script: ${String(reply).slice(0, 80)}`);
  }
  const row = Object.fromEntries(columns.map((name, n) => [name, numbers[n]])) as unknown as Numbers &
    Readonly<Record<(typeof AGE_COLUMNS)[number] | 'open', number>>;
  const counts = stack.plan.map((_, layer) => {
    const at = columns.length + layer * width;
    const [items = 0, nonZero = 0, saturated = 0, ...cells] = numbers.slice(at, at + width);
    return { items, nonZero, saturated, cells };
  });
  if (!ages) return { ...row, layers: counts };
  // meta has a layer's counts as of its last change, but cells have expired since.
  const layers = stack.plan.map(({ geometry }, layer): LayerRow => {
    const { saturated, cells } = counts[layer] as (typeof counts)[0];
    const nonZero = cells.reduce((sum, one) => sum + one, 0);
    return { items: itemsFromCells(nonZero, stack.cellsOf(layer), geometry), nonZero, saturated };
  });
  const { epoch, hidden } = row;
  return { ...row, layers, age: { epoch, hidden, cells: counts.map(({ cells }) => cells) } };
}
