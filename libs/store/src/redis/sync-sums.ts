import { joinAll } from '../join-all.js';
import type { Sync } from '../syncs.js';
import type { Connection } from './connection.js';
import type { EntrySync } from './entry.js';
import type { RedisFilter } from './filter.js';
import { segmentKeysOf } from './segments.js';
import { describeSyncScript } from './scripts/sync.js';

/** What the segments have of a sync, together. */
export interface Sums extends Pick<Sync, 'items' | 'kept' | 'listed' | 'new'> {
  /** More was removed than can be noted. */
  readonly full: boolean;
  /** The segments whose queue is still to be kept. */
  readonly uncopied: readonly number[];
}

/** Of a sync in which no segment takes part yet. */
export const NOTHING = { items: 0, kept: 0, listed: 0, new: 0 };

/** The figures of a sync as callers see them, but for its state. */
export function figuresOf(
  { id, openedAt, plan: { capacity, errorRate } }: EntrySync,
  { items, kept, listed, new: fresh }: Pick<Sums, keyof typeof NOTHING>,
) {
  return { id, openedAt, capacity, errorRate, listed, new: fresh, items, kept };
}

/** Adds up what the segments of a filter have of its sync, and has the filter know it. */
export class SyncSums {
  constructor(private readonly connection: Connection) {}

  /** Undefined if some segment takes no part in the sync. */
  async of(filter: RedisFilter, id: string, deadline: number): Promise<Sums | undefined> {
    const { sync } = filter;
    if (sync?.id !== id) return undefined;
    const rows = await joinAll(filter.segments.map((_, segment) => this.read(filter, segment, id, deadline)));
    const sums = { ...NOTHING, full: false, uncopied: [] as number[] };
    for (const [segment, row] of rows.entries()) {
      if (!row) return undefined;
      const [items = 0, kept = 0, listed = 0, fresh = 0, isFull = 0, copied = 0, open = 0, ...stored] = row;
      sums.items += items;
      sums.kept += kept;
      sums.listed += listed;
      sums.new += fresh;
      sums.full ||= isFull === 1;
      if (copied === 0) sums.uncopied.push(segment);
      sync.list.saw(segment, open, stored);
    }
    return sums;
  }

  private async read(
    filter: RedisFilter,
    segment: number,
    id: string,
    deadline: number,
  ): Promise<number[] | undefined> {
    const { cells, meta } = segmentKeysOf(filter, segment);
    const layers = [filter.list.plan.length, filter.sync?.list.plan.length ?? 1];
    const args = [filter.syncedToken(id), filter.pieceBytes, ...layers];
    const reply = await this.connection.run(describeSyncScript, [cells, meta], args, deadline);
    return Array.isArray(reply) ? reply.map(Number) : undefined;
  }
}
