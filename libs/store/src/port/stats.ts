import type { Sync } from './syncs.js';

/** Counts that the store keeps with the cells. It never scans to compute them. */
export interface FilterStats {
  /**
   * Number of adds that returned Added.New, minus removals that left the item absent. If the filter ages, an estimate
   * from the live cells.
   */
  readonly items: number;
  readonly nonZeroCells: number;
  /** Number of counters at 15 (0 for a standard filter). */
  readonly saturatedCells: number;
  /** These three counts for each existing layer, oldest first. One element if the filter doesn't grow. */
  readonly layers: readonly LayerStats[];
  readonly added: number;
  readonly duplicate: number;
  readonly removed: number;
  /** Number of removals that changed nothing, except for Removed.Moved. */
  readonly refused: number;
  /** Visited sets only. */
  readonly queue?: QueueStats;
  /** Only for sets with `perHost`, and only if asked for. */
  readonly hosts?: HostStats;
  /** The sync that is open or committing. */
  readonly sync?: Sync;
  /** Only if the filter ages. */
  readonly age?: AgeStats;
  /**
   * How far back the store is sure to have every operation record, in whole seconds: 86,400 and 60, even for a new
   * filter. Less if the memory limit made it drop some early.
   */
  readonly recordWindowSeconds: { readonly caller: number; readonly made: number };
}

/** Epochs and live items of a filter that ages. See age.ts. */
export interface AgeStats {
  /** Number of the current epoch, and the length of an epoch. */
  readonly epoch: number;
  readonly epochMs: number;
  /** Items by the last epoch in which they are live, the current one first. Estimated, like `items`. */
  readonly items: readonly number[];
  /** Number of removed items whose cells other items all keep live. */
  readonly hidden: number;
}

/** Hosts of a per-host queue. A host at `maxLeased` is neither due nor blocked. */
export interface HostStats {
  /** Number of hosts with entries, or with counts or settings. */
  readonly known: number;
  /**
   * Number of hosts whose entries may be leased now. May include hosts whose entries were all leased, until the next
   * lease. The embedded store counts no further than MOST_COUNTED_HOSTS.
   */
  readonly due: number;
  /** Number of hosts that wait until their delay or block ends. As in `due`, some may have no entries. */
  readonly blocked: number;
}

/** How many due and how many blocked hosts the embedded store counts, because it has to count them one by one. */
export const MOST_COUNTED_HOSTS = 1_000;

export type LayerStats = Pick<FilterStats, 'items' | 'nonZeroCells' | 'saturatedCells'>;

/**
 * Queue entries by state. Forgotten entries count until the queue reaches or sweeps them. Entries whose lease, delay or
 * schedule has ended count as waiting. If very many have come due since the last lease, some count in their former
 * states.
 */
export interface QueueStats {
  /** Number of entries that can be leased now. */
  readonly waiting: number;
  readonly leased: number;
  /** Number of entries released with a delay that has not ended. */
  readonly delayed: number;
  /** Number of entries scheduled for a later time. See Queue. */
  readonly scheduled: number;
  /** Number of dead letters. */
  readonly dead: number;
  /** Upper bound on the number of forgotten entries in these counts. */
  readonly forgotten: number;
  /**
   * Age of the entry at the head of the queue, in seconds since its discovery or its scheduled time. If all waiting
   * entries have come due since the last change, the age of the one that came due first. Absent if no entry is waiting,
   * or if no host of a per-host queue may have more entries leased.
   */
  readonly oldestSeconds?: number;
}
