import type { Layer } from '#bloom';
import { epochMs, itemsFromCells } from '../../age.js';
import { joinAll } from '../../join-all.js';
import type { Sync } from '../../port/index.js';
import type { Connection } from '../connection/connection.js';
import { type EntrySync, plannedIn } from '../layout/entry.js';
import { type RedisFilter, segmentKeysOf } from '../layout/filter.js';
import { removedKey } from '../layout/keys.js';
import type { LayerStack } from '../layout/layer-stack.js';
import { describeSyncScript } from '../scripts/sync.js';

/** A sync's counts, summed over all segments. */
export interface Sums extends Pick<Sync, 'items' | 'kept' | 'listed' | 'new'> {
  /** True if more items were removed than the sync can note. */
  readonly full: boolean;
  /** Segments whose queue the sync hasn't kept yet. */
  readonly uncopied: readonly number[];
}

/** A sync's counts before any segment takes part. */
export const NOTHING = { items: 0, kept: 0, listed: 0, new: 0 };

/** A sync's figures as callers see them, without its state. */
export function figuresOf(
  { id, openedAt, plan: { capacity, errorRate } }: EntrySync,
  { items, kept, listed, new: fresh }: Pick<Sums, keyof typeof NOTHING>,
) {
  return { id, openedAt, capacity, errorRate, listed, new: fresh, items, kept };
}

/** Sums the counts of a filter's sync over all segments, and updates the counts in the filter's handle. */
export class SyncSums {
  constructor(
    private readonly connection: Connection,
    /** See RedisStoreOptions. */
    private readonly maxSyncForgets: number,
  ) {}

  /** Returns undefined if a segment doesn't take part in the sync. */
  async of(
    filter: RedisFilter,
    sync: Pick<EntrySync, 'id' | 'plan' | 'base'>,
    deadline: number,
  ): Promise<Sums | undefined> {
    const rows = await joinAll(
      filter.segments.map((_, segment) => this.read(filter, segment, sync, deadline)),
    );
    const known = filter.sync?.id === sync.id ? filter.sync : undefined;
    const sums = { ...NOTHING, full: false, uncopied: [] as number[] };
    const own = filter.stack.plan.map((): number[] => []);
    let noted = 0;
    for (const [segment, row] of rows.entries()) {
      if (!row) return undefined;
      const [kept = 0, listed = 0, fresh = 0, isFull = 0, copied = 0, open = 0, removed = 0, ...counts] = row;
      const second = counts.splice(own.length);
      for (const [layer, count] of counts.entries()) own[layer]?.push(count);
      sums.kept += kept;
      sums.listed += listed;
      sums.new += fresh;
      sums.full ||= isFull === 1;
      noted += removed;
      if (copied === 0) sums.uncopied.push(segment);
      known?.stack.saw(segment, open, itemsIn(filter, known.stack, second));
    }
    // With hosts, the total is checked here. Each segment may note as many removals as the whole set, because all of
    // them may belong to one host.
    if (filter.stack.isByHost) sums.full ||= noted > this.maxSyncForgets;
    const items = own.map((counts, layer) =>
      filter.maxAgeSeconds === undefined ? sumOf(counts) : filter.stack.itemsFromCells(layer, counts),
    );
    return { ...sums, items: sumOf(items) };
  }

  /** True if the segments together have noted too many removals, even if each of them could note more. */
  async exceed(filter: RedisFilter, sync: EntrySync, deadline: number): Promise<boolean> {
    if (!filter.stack.isByHost || filter.spread === 1) return false;
    return (await this.of(filter, sync, deadline))?.full ?? false;
  }

  private async read(
    filter: RedisFilter,
    segment: number,
    { id, plan, base }: Pick<EntrySync, 'id' | 'plan' | 'base'>,
    deadline: number,
  ): Promise<number[] | undefined> {
    const keys = segmentKeysOf(filter, segment);
    const layers = [filter.stack.plan.length, plannedIn(plan)];
    const epoch = filter.maxAgeSeconds === undefined ? 0 : epochMs(filter.maxAgeSeconds);
    const args = [filter.syncedToken(id), filter.pieceBytes, ...layers, epoch];
    const all = [keys.cells, keys.meta, removedKey(keys, base)];
    const reply = await this.connection.run(describeSyncScript, all, args, deadline);
    return Array.isArray(reply) ? reply.map(Number) : undefined;
  }
}

/** A segment's items in each layer, from the counts of describeSyncScript. */
function itemsIn(
  { maxAgeSeconds }: RedisFilter,
  stack: LayerStack,
  counts: readonly number[],
): readonly number[] {
  if (maxAgeSeconds === undefined) return counts;
  return counts.map((live, layer) => {
    const { geometry } = stack.plan[layer] as Layer;
    return itemsFromCells(live, stack.cellsOf(layer), geometry);
  });
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
