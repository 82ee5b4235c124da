import type { Positions } from '#bloom';
import type { Filter } from './filter.js';
import type { Operation } from './operation.js';
import type { Priority } from './queue.js';

/** Results of `add`, one per item. */
export const Added = { Present: 0, New: 1, Limited: 2 } as const;
/** Results of `remove`, one per item. */
export const Removed = { Absent: 0, Removed: 1, Saturated: 2, Moved: 3 } as const;

/** How `add` queues new items. */
export interface Queued {
  /** One string per item. Absent: no item is queued. */
  readonly payloads?: readonly string[] | undefined;
  /** In sets with `perHost`: each item's host name. Required with `payloads`. */
  readonly hosts?: readonly string[] | undefined;
  /** Default: normal. */
  readonly priority?: Priority | undefined;
  /**
   * Delay before the entries can be leased, at most MAX_SCHEDULE_MS. Until then they are scheduled. Default: 0,
   * immediately. In a filter that ages, it must be shorter than the items' lifetime, because an expired item could be
   * queued again.
   */
  readonly delayMs?: number | undefined;
}

/** Options of `add`. */
export interface AddOptions extends Queued {
  /** In a filter that ages: how long the items live. Default: the filter's maximum age. */
  readonly ttlMs?: number | undefined;
  /**
   * In a `multiset`: adds only absent items. An add to a `set` does this anyway, so the option has no effect there.
   * Default: false.
   */
  readonly onlyAbsent?: boolean | undefined;
}

/**
 * Operations on cells. Every method takes the positions of a batch and returns one byte per item, in the batch's order.
 *
 * - Each item changes atomically, and items in one segment change in batch order. Items in different segments, and
 *   parallel calls, have no defined order.
 * - The store writes a mutation and its operation record in the same atomic step. A repeat returns the same result and
 *   changes nothing. If a call fails halfway (STORE_UNAVAILABLE), repeating it with the same operation gives every item
 *   its first answer.
 * - Every call, including reads, checks the filter's generation, and that none of its cells is missing. It throws
 *   STORE_DATA_LOST, FILTER_NOT_FOUND or StaleFilterError, and never returns a wrong "absent".
 * - When a call returns, every change that it may have observed is as durable as the store promises.
 * - Calls that the filter doesn't support throw TypeError: counting in a standard filter, payloads without a queue.
 *
 * A filter that grows has layers, and only the newest accepts new items. An item belongs to the oldest layer that
 * claims it (all its k cells there are non-zero), and it stays there. This makes removals exact: in a closed layer, a
 * cell at zero stays zero, because only items that the layer already claims are added to it. When an item was stored,
 * no older layer claimed it, so each older layer has a zero cell for it, and always will.
 */
export interface Counters {
  /**
   * `set`: stores absent items (some cell is zero). `multiset`: counts every item or, with `onlyAbsent`, adds as a
   * `set` does: an item that a layer claims doesn't change, and a second copy in the batch is present. A counter at 15
   * stays at 15. Returns Added.New for items that were absent.
   *
   * Throws FILTER_FULL, before any change, if the filter would hold more than twice its capacity. If the filter grows,
   * throws FILTER_FULL if its last layer would exceed its own capacity.
   *
   * A filter that grows counts an item in the oldest layer that claims it, and stores it in the newest layer if none
   * does. A layer is closed when it reaches its capacity, or when one segment reaches its share of it, even in the
   * middle of a batch. If the next layer can't be created, the call throws STORE_FULL (no memory) or QUOTA_EXCEEDED
   * (the layer would exceed the operation's quota). The segment then takes no more items from the batch, and a repeat
   * of the operation continues where it stopped.
   *
   * `payloads`, for visited sets: a new item is queued with its payload in the same atomic step.
   *
   * In sets with `perHost`, the result is Added.Limited if an item to queue would exceed its host's `maxUrls`, or if
   * its host is new and the set has the maximum number of hosts. Such an item is neither stored nor queued. A copy of
   * an item in the batch counts once. In a set that ages, the count restarts with each period of the maximum age. A
   * committed sync changes the count: see Syncs.
   *
   * A batch of many hosts may take several atomic steps. A batch without enough room is refused before its first step.
   * A batch that had room then isn't refused later, even if other calls have taken its room.
   *
   * In a filter that ages, items live for `ttlMs` from now (default: the filter's maximum age), and up to a thirteenth
   * of that maximum longer. A present item keeps its remaining lifetime or the new one, whichever is longer.
   */
  add(filter: Filter, positions: Positions, operation: Operation, options?: AddOptions): Promise<Uint8Array>;

  /** 1: probably present (all k cells are non-zero). 0: certainly absent. */
  check(filter: Filter, positions: Positions, deadline: number): Promise<Uint8Array>;

  /**
   * Decrements each of the item's counters in the oldest layer that claims it. If no layer claims the item, changes
   * nothing and returns Removed.Absent. Counters at 15 stay at 15. If all are at 15, changes nothing and returns
   * Removed.Saturated. An item removed from a visited set leaves the queue in the same step, wherever its entry is, so
   * the entry is never leased or settled again. Counting filters only.
   *
   * In a filter that ages, returns Removed.Removed for every present item. If other items keep all its cells live, the
   * store notes the removed item until its lifetime ends, and reports it as absent. The number of notes is limited. At
   * the limit, the call throws STORE_FULL before any change.
   *
   * `ids`, for visited sets: for each item, its entry's id from `Queue.entries`. If the entry is no longer there (see
   * Queue.drop), or belongs to another item, the item stays and the result is Removed.Moved. If several ids name
   * entries for one item, the first one counts, and the others are Removed.Moved.
   */
  remove(
    filter: Filter,
    positions: Positions,
    operation: Operation,
    ids?: readonly string[],
  ): Promise<Uint8Array>;

  /**
   * The smallest of the item's counters in the oldest layer that claims it, or 0 if none does. This is an upper bound
   * on the item's multiplicity. 15 means 15 or more. Counting filters only. Throws TypeError for a standard filter,
   * which has bits.
   */
  count(filter: Filter, positions: Positions, deadline: number): Promise<Uint8Array>;
}
