import type { Filter, FilterSpec } from './filter.js';
import type { HostSettings } from './hosts.js';
import type { Operation, Quota } from './operation.js';
import type { Priority } from './queue.js';
import type { FilterStats } from './stats.js';

/** A queue entry on its way between stores. */
export interface QueuedItem {
  /** The item's hash: four big-endian words. The first word determines the segment. */
  readonly hash: Uint8Array;
  /** Number of leases so far, up to MAX_ATTEMPT. */
  readonly attempt: number;
  /** When the item was discovered, in whole seconds since the epoch. */
  readonly discoveredAt: number;
  /** UTF-8. */
  readonly payload: Uint8Array;
  /** Absent: normal. */
  readonly priority?: Priority | undefined;
  /** When a scheduled entry comes back, in ms since the epoch. Absent for all other entries. */
  readonly scheduledAt?: number | undefined;
  /** A dead letter's reason. Absent for all other entries. */
  readonly reason?: string;
  /** In sets with `perHost`: the item's host name. */
  readonly host?: string;
}

/** A host's lane on its way between stores. */
export interface QueuedHost extends HostSettings {
  /** The host's name. */
  readonly name: string;
  /**
   * When the next entry may be leased, in ms since the epoch. If that time has passed, the lane has been due since
   * then, and lanes are served in the order of these times.
   */
  readonly readyAt: number;
  /** In sets with `maxUrls`: the host's discovered URLs, minus forgotten ones, up to MAX_PER_HOST. Otherwise 0. */
  readonly found: number;
  /** In sets that age: when `found` restarts, in ms since the epoch. Otherwise 0. */
  readonly foundUntil: number;
}

/** In a filter that ages: an item that was removed while others keep its cells live. */
export interface HiddenItem {
  /** Same as in QueuedItem. */
  readonly hash: Uint8Array;
  /** The last epoch in which the store must remember the removal. */
  readonly until: number;
}

/** The lease count of an entry stops here. */
export const MAX_ATTEMPT = 2 ** 24 - 1;

/** A filter's counts that can't be computed from its cells. */
export type CallCounts = Pick<FilterStats, 'items' | 'added' | 'duplicate' | 'removed' | 'refused'>;

/**
 * A piece of a filter's contents that fits in memory. Pieces come segment by segment: first the segment's queue, then
 * its hidden items, then its cells from first to last without gaps, oldest layer first. The last piece has the counts.
 */
export type Part =
  | {
      readonly type: 'queue';
      readonly segment: number;
      readonly entries: readonly QueuedItem[];
      /**
       * In sets with `perHost`, in the order of their turns. The lanes of a run of segments come with its first
       * segment. If a host appears twice, its last lane counts.
       */
      readonly hosts?: readonly QueuedHost[];
    }
  | { readonly type: 'hidden'; readonly segment: number; readonly items: readonly HiddenItem[] }
  | {
      readonly type: 'cells';
      /** Number of the layer, from 0. */
      readonly layer: number;
      /** The layer's segment. One of the filter's segments may correspond to several in a layer. */
      readonly segment: number;
      readonly cells: Uint8Array;
      /** Number of non-zero cells, and of counters at 15. */
      readonly nonZero: number;
      readonly saturated: number;
    }
  | {
      readonly type: 'counts';
      readonly counts: CallCounts;
      /** Each layer's items, oldest first. `counts.items` is their sum. */
      readonly layerItems: readonly number[];
    };

/** Moves whole filters between stores. */
export interface Transfer {
  /**
   * A filter's contents except its operation records, while the filter is in use. Segments are read one after another,
   * and the cells of each are a snapshot. If the filter grows, each layer of a segment is a separate snapshot, and the
   * open one comes first.
   *
   * An item lives in one segment and layer. So the export has the effects of every call that returned before it began,
   * minus later removals. If an item changes during the export, the export has the whole change or none of it. A queue
   * entry or dead letter is missing only if it was acknowledged or purged (but see exportParts), and may appear twice.
   *
   * Throws the errors that `Counters` lists, and StaleFilterError also if the filter is cleared or dropped halfway.
   */
  export(filter: Filter): AsyncGenerator<Part, void, undefined>;

  /**
   * Creates a filter with these contents under a new generation. Scheduled entries stay scheduled, and dead letters
   * stay dead letters. All other entries wait in the new filter, in the order of `parts` within each priority.
   *
   * `parts` must be complete and match the spec. A caller that reads them from elsewhere must check this, and throw out
   * of the iteration if they don't. The filter becomes visible when `parts` ends. If anything throws before that, no
   * filter exists and its memory is freed (after a crash, by the next start or call).
   *
   * Before it reads `parts`, it throws FILTER_EXISTS if the name is taken, FILTER_BUSY if another call is creating or
   * dropping a filter with that name, and QUOTA_EXCEEDED like `create`. A repeated operation returns the same filter
   * without reading `parts`.
   */
  import(spec: FilterSpec, parts: AsyncIterable<Part>, operation: Operation, quota?: Quota): Promise<Filter>;
}
