import type { Filter, FilterSpec } from './filter.js';
import type { Operation, Quota } from './operation.js';
import type { FilterStats } from './stats.js';

/** A queue entry on its way between stores. */
export interface QueuedItem {
  /** The item's hash: four big-endian words, the first of which tells its segment. */
  readonly hash: Uint8Array;
  /** Leases so far, up to MAX_ATTEMPT. */
  readonly attempt: number;
  /** When it was discovered, in whole seconds since the epoch. */
  readonly discoveredAt: number;
  /** UTF-8. */
  readonly payload: Uint8Array;
  /** Of a dead letter; absent for all others. */
  readonly reason?: string;
}

/** An item of a filter that ages which was removed while others keep its cells live. */
export interface HiddenItem {
  /** As of a QueuedItem. */
  readonly hash: Uint8Array;
  /** The last epoch in which that has to be known. */
  readonly until: number;
}

/** Leases that an entry may come with: stores and files count on from there in 32 bits. */
export const MAX_ATTEMPT = 2 ** 31;

/** The counts of a filter that cannot be computed from its cells. */
export type CallCounts = Pick<FilterStats, 'items' | 'added' | 'duplicate' | 'removed' | 'refused'>;

/**
 * A piece of a filter's contents, small enough to be held in memory. The pieces come segment by segment: first the
 * queue of a segment, then what is hidden in it, then its cells from first to last without a gap, those of the oldest layer first. The counts come
 * last of all.
 */
export type Part =
  | { readonly type: 'queue'; readonly segment: number; readonly entries: readonly QueuedItem[] }
  | { readonly type: 'hidden'; readonly segment: number; readonly items: readonly HiddenItem[] }
  | {
      readonly type: 'cells';
      /** Number of the layer, from 0. */
      readonly layer: number;
      /** Of the layer, which may have several for each of the filter's. */
      readonly segment: number;
      readonly cells: Uint8Array;
      /** How many of these cells are not zero, and how many are counters at 15. */
      readonly nonZero: number;
      readonly saturated: number;
    }
  | {
      readonly type: 'counts';
      readonly counts: CallCounts;
      /** Items of each layer, oldest first; `counts` has their sum. */
      readonly layerItems: readonly number[];
    };

/** Moves whole filters out of a store and into another. */
export interface Transfer {
  /**
   * Everything of a filter except its operation records, while the filter is in use. The cells of a segment are those
   * of one moment, and segments are read one after the other; of a filter that grows that is so of each layer, the open one of a
   * segment first. An item lives in one segment and layer. So the export has
   * everything that was answered before it began, less what was removed since. Each change of an item that happens
   * meanwhile is in it whole or not at all. An entry of the queue, dead letters included, is missing only if it
   * was acknowledged or purged (but see exportParts), and may appear twice. Throws as `Counters` does; StaleFilterError also if the filter is cleared or
   * dropped half way.
   */
  export(filter: Filter): AsyncGenerator<Part, void, undefined>;

  /**
   * Makes a filter with these contents, under a generation of its own, with all queued entries in line,
   * in the order in which they come, and its dead letters. `parts` must be
   * complete and fit the spec. A caller that reads them from elsewhere checks that, and throws out of the iteration if
   * they are not. The filter becomes visible when the parts have ended. If anything throws before that, there is no
   * filter and its reserved memory is freed. After a crash the next start or call frees it.
   *
   * Before the parts are read it throws FILTER_EXISTS if the name is taken, FILTER_BUSY if another call makes or drops
   * a filter of that name, and QUOTA_EXCEEDED as `create` does. A repeated operation answers the same filter without
   * reading the parts.
   */
  import(spec: FilterSpec, parts: AsyncIterable<Part>, operation: Operation, quota?: Quota): Promise<Filter>;
}
