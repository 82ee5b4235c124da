import type { Sync } from './syncs.js';

/** Counts that are kept beside the cells, never found by scanning. */
export interface FilterStats {
  /** Adds answered new, less removals that left the item absent. If the filter ages, estimated from the cells that are live. */
  readonly items: number;
  readonly nonZeroCells: number;
  /** Counters at 15 (0 for a standard filter). */
  readonly saturatedCells: number;
  /** These three of each layer there is, oldest first: one if the filter does not grow. */
  readonly layers: readonly LayerStats[];
  readonly added: number;
  readonly duplicate: number;
  readonly removed: number;
  /** Removals that changed nothing. */
  readonly refused: number;
  /** Visited sets only. */
  readonly queue?: QueueStats;
  /** The one that is open or committing. */
  readonly sync?: Sync;
  /** If the filter ages. */
  readonly age?: AgeStats;
  /**
   * How far back records of operations surely reach, in whole seconds. That is 86,400 and 60, even for a new filter,
   * unless the limit on their memory made the store forget some sooner.
   */
  readonly recordWindowSeconds: { readonly caller: number; readonly made: number };
}

/** The time of a filter that ages: see age.ts. */
export interface AgeStats {
  /** Number of the present epoch, and the length of each. */
  readonly epoch: number;
  readonly epochMs: number;
  /** Items by the last epoch in which they are live: the present one first, estimated as `items` is. */
  readonly items: readonly number[];
  /** Items that were removed while others keep all their cells live. */
  readonly hidden: number;
}

export type LayerStats = Pick<FilterStats, 'items' | 'nonZeroCells' | 'saturatedCells'>;

/** Entries of a queue by where they are. Entries that were forgotten count until the queue comes to them. */
export interface QueueStats {
  /** In line, to be leased now. */
  readonly waiting: number;
  readonly leased: number;
  /** Released with a delay that is not over. */
  readonly delayed: number;
  /** Dead letters. */
  readonly dead: number;
  /** How many of all these may have been forgotten, at most. */
  readonly forgotten: number;
  /** Seconds since the entry at the head of the line was discovered; absent if none waits. */
  readonly oldestSeconds?: number;
}
