import type { Geometry, Layer, Positions } from '#bloom';
import type { Filter } from './filter.js';
import type { Operation, Quota } from './operation.js';

/**
 * `open`: accepts items. `committing`: forgets items that are not kept. This continues even if the caller goes away,
 * and can't be undone. `committed` and `abandoned`: ended.
 */
export type SyncState = 'open' | 'committing' | 'committed' | 'abandoned';

/** The layers that a sync fills, and that the filter has after the commit. */
export interface SyncPlan {
  readonly capacity: number;
  readonly errorRate: number;
  /** Geometry of the first layer. Its number of segments is a whole multiple of the number at the filter's creation. */
  readonly geometry: Geometry;
  /** All layers if the filter grows, the first with `geometry`. Absent: the filter doesn't grow. */
  readonly layers?: readonly Layer[];
}

/** Default for how long a sync may go without a call before the store abandons it, in ms. */
export const DEFAULT_SYNC_IDLE_MS = 3_600_000;
/** Default limit on the removals that an open sync notes. One more abandons the sync. */
export const DEFAULT_MAX_SYNC_FORGETS = 1_000_000;

/** A sync keeps the items that callers list and forgets all others. */
export interface Sync {
  /** Random, 16 hex digits. */
  readonly id: string;
  readonly state: SyncState;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  /** Capacity and error rate of the filter after the commit. */
  readonly capacity: number;
  readonly errorRate: number;
  /**
   * Number of items given to `keep`, except those that got Kept.Forgotten. If another operation lists an item again, it
   * counts again.
   */
  readonly listed: number;
  /** How many of these got Kept.New. */
  readonly new: number;
  /** I: items in the filter, not counting newly listed ones. After the sync has ended, as of its end. */
  readonly items: number;
  /**
   * K: how many of I stay. They were listed or added since the sync opened, or were in the queue then. They have not
   * been removed since.
   */
  readonly kept: number;
  /** Bytes of the layers that the sync fills, or 0 once it has ended. */
  readonly bytes: number;
  /** Why the sync was abandoned. Shown to callers. */
  readonly reason?: string;
}

/**
 * Number of items that a commit would forget, or has forgotten: max(0, I − K). With error rate p, K is too low by about
 * 0.14 p·I, because other items' cells already claim some kept items when they arrive. For each newly listed item, it
 * is too high by p.
 */
export function forgottenBy({ items, kept }: Pick<Sync, 'items' | 'kept'>): number {
  return Math.max(0, items - kept);
}

/** Results of `keep`, one per item. */
export const Kept = {
  /** The item was in the filter or already listed, and stays. */
  Present: 0,
  /** The item was not in the filter, and now is. */
  New: 1,
  /** The item was removed since the sync was opened and not added again, so it is not kept. */
  Forgotten: 2,
} as const;

/**
 * Keeps the items of an input list and forgets all others. A sync fills new layers next to the filter's own. While a
 * sync is open,
 *
 * - `check` finds items that the filter's own layers or the new ones claim;
 * - `add` stores an item in both if neither claims it, and the item is new. An item that the own layers claim is also
 *   stored in the new layers. An item that only the new layers claim is not new, and stays only there;
 * - `keep` stores in the new layers only, unless the item was removed since the sync was opened;
 * - `remove` removes the item from both, in each from the oldest layer that claims it. Every removal, even of an absent
 *   item, is noted until the item is added again, so the order of removing and listing an item does not matter;
 * - entries that are waiting, leased, delayed or dead letters when the sync is opened are kept: before `open` returns
 *   or, if that takes too long, soon after, and always before the commit. This includes entries that are acknowledged
 *   or purged before that. If the new layers have no room for them, the store abandons the sync;
 * - scheduled entries are not kept. The commit removes those whose items the new layers don't claim, because otherwise
 *   a set could never forget a URL that it keeps re-crawling. It also drops entries that came due during the sync, in
 *   whatever state they are by then, unless the new layers claim their items. In a set that ages, this includes entries
 *   whose items were listed and have expired since. Entries that come due before all others are kept may be kept as
 *   well. No dropped entry comes due and no later export has it, however long the drop takes, and even if the instance
 *   that drops it dies. No sync opens before the last commit has dropped these entries.
 *
 * A commit replaces the filter's own layers with the new ones. For each item, this happens at one moment. Handles
 * opened before become stale (StaleFilterError), since positions may differ. Abandoning drops the new layers and loses
 * nothing.
 *
 * In sets with `maxUrls`, a host's URLs that the commit keeps count from then on, including those that were listed but
 * never discovered. In a set that ages, no more of them count than before the commit. `maxUrls` doesn't limit `keep`.
 *
 * Calls throw the errors that `Counters` lists. They throw SYNC_NOT_FOUND for an id that is neither the filter's last
 * sync nor one that ended within the last 24 hours, SYNC_ENDED if the sync no longer accepts the call, and
 * SYNC_UNSUPPORTED for a `multiset`, which has no syncs.
 */
export interface Syncs {
  /**
   * Opens a sync. Reserves its memory before anything changes. Throws SYNC_EXISTS while another is open or committing,
   * and STORE_FULL and QUOTA_EXCEEDED like `Store.create`. A repeat returns the same sync's current state, even if it
   * has ended and others have been opened since.
   */
  open(filter: Filter, plan: SyncPlan, operation: Operation, quota?: Quota): Promise<Sync>;

  /**
   * The sync with this id. Resets the sync's idle time. A store need not persist this: after a crash, `tend` may use
   * the time of an earlier call.
   */
  get(filter: Filter, id: string): Promise<Sync>;

  /**
   * Keeps items. Returns a `Kept` per item, in the batch's order, and records the operation like `add`. Throws
   * SYNC_ENDED unless the sync is open, and FILTER_FULL if the new layers have no room. `hosts`: see `Counters.add`.
   */
  keep(
    filter: Filter,
    id: string,
    positions: Positions,
    operation: Operation,
    hosts?: readonly string[],
  ): Promise<Uint8Array>;

  /**
   * Forgets all items that are not kept. Returns when the commit is done or, at the deadline, with state `committing`.
   * Throws SYNC_WOULD_FORGET, before any change, if it would forget more than the share `most` (0 to 1) of the filter's
   * items. Safe to repeat.
   */
  commit(filter: Filter, id: string, most: number, deadline: number): Promise<Sync>;

  /** Abandons a sync. Throws SYNC_ENDED if it is committing or committed. Safe to repeat. */
  abandon(filter: Filter, id: string, deadline: number): Promise<Sync>;

  /**
   * Abandons syncs that have had no call for the store's `syncIdleMs`, and resumes commits whose instance died. Call it
   * regularly, from any instance.
   */
  tend(): Promise<void>;
}
