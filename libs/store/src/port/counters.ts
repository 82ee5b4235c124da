import type { Positions } from '#bloom';
import type { Filter } from './filter.js';
import type { Operation } from './operation.js';

/** What `add` answers per item. */
export const Added = { Present: 0, New: 1 } as const;
/** What `remove` answers per item. */
export const Removed = { Absent: 0, Removed: 1, Saturated: 2 } as const;

/**
 * Cells. Every method takes the positions of a batch and answers one byte per item, in the batch's order.
 *
 * - Each item is changed atomically, and the items of a segment in order. There is no order between items of different
 *   segments, and none between parallel calls.
 * - A mutation is recorded under its operation in the same atomic step as the change. A repeat answers the same and
 *   changes nothing. When a call fails half way (STORE_UNAVAILABLE), repeating it with the same operation gives every
 *   item its first answer.
 * - Every call, reads included, checks the filter's generation and that all its cells are there. It throws
 *   STORE_DATA_LOST, FILTER_NOT_FOUND or StaleFilterError, and never answers a wrong "absent".
 * - No answer leaves before every change it may have observed is as durable as the store promises.
 * - A call that no caller may make throws TypeError: counters of a standard filter, payloads where there is no queue.
 *
 * A filter that grows has layers, of which only the newest is open to what is new. An item is in the oldest layer that
 * claims it, all k cells of it there being non-zero, and stays there. That is what makes removals exact. In a layer that
 * is closed a cell at zero stays zero, since only items that the layer claims are added to it. No layer older than an
 * item's own claimed it when it was stored, so each of those has a cell at zero for it, for ever.
 */
export interface Counters {
  /**
   * `set`: stores the items that are not present (some cell zero). `multiset`: counts every item. A counter at 15
   * stays. Answers Added.New for items that were not present. Throws FILTER_FULL, before any change, if the filter
   * would hold more than twice its capacity; if it grows, more than the capacity of its last layer there.
   *
   * In a filter that grows, an item is counted in the oldest layer that claims it, and is stored in the newest if none
   * does. A layer is closed at its capacity, or its share of it in a segment, also in the midst of a batch. If the next
   * one has to be made and cannot be, it throws STORE_FULL for lack of memory, and QUOTA_EXCEEDED if the layer would exceed
   * the operation's quota. Then nothing more is added to the segment, and a repeat of the operation goes on where it stopped.
   *
   * `payloads`, for visited sets: one string per item. A new item is queued with its string in the same atomic step.
   *
   * In a filter that ages the items are live for `ttlMs` from now, or if that is absent for its whole age, and for up to a
   * thirteenth of that age more. An item that is present is live for the longer of what it had left and that.
   */
  add(
    filter: Filter,
    positions: Positions,
    operation: Operation,
    payloads?: readonly string[],
    ttlMs?: number,
  ): Promise<Uint8Array>;

  /** 1: probably present (all k cells non-zero). 0: surely absent. */
  check(filter: Filter, positions: Positions, deadline: number): Promise<Uint8Array>;

  /**
   * Takes one from each of the item's counters in the oldest layer that claims it, that is, where all are above zero. Otherwise it changes nothing and answers
   * Removed.Absent. Counters at 15 stay; if all are at 15, nothing changes and the answer is Removed.Saturated. An item
   * that is removed from a visited set leaves the queue in the same step, wherever its entry is: it is never handed out or
   * settled again. Counting filters only.
   *
   * In a filter that ages it answers Removed.Removed for every item that is there. One whose cells others keep live is noted until
   * its own time is over: so it is absent as well, whatever its cells say. The notes are bounded: STORE_FULL, before any change.
   */
  remove(filter: Filter, positions: Positions, operation: Operation): Promise<Uint8Array>;

  /**
   * The smallest of the item's counters in the oldest layer that claims it, else 0: an upper bound of its multiplicity. 15 means 15 or more. Counting filters
   * only: throws TypeError for a standard one, which has bits.
   */
  count(filter: Filter, positions: Positions, deadline: number): Promise<Uint8Array>;
}
