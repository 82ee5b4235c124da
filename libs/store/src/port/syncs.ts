import type { Geometry, Layer, Positions } from '#bloom';
import type { Filter } from './filter.js';
import type { Operation, Quota } from './operation.js';

/**
 * `open`: lines are taken. `committing`: what is not kept is being forgotten; it goes on whoever asked for it, and there is
 * no way back. `committed` and `abandoned`: it is over.
 */
export type SyncState = 'open' | 'committing' | 'committed' | 'abandoned';

/** The list of layers that a sync fills, and that the filter has once it is committed. */
export interface SyncPlan {
  readonly capacity: number;
  readonly errorRate: number;
  /** Of the first layer. Its segments are a whole multiple of those that the filter was made with. */
  readonly geometry: Geometry;
  /** All layers, if the filter grows; the first of them has `geometry`. Absent: the filter does not grow. */
  readonly layers?: readonly Layer[];
}

/** A sync that nobody has called for so long is given up, in ms, unless a store is told otherwise. */
export const DEFAULT_SYNC_IDLE_MS = 3_600_000;
/** Removals that are noted while a sync is open, unless a store is told otherwise. One more ends it. */
export const DEFAULT_MAX_SYNC_FORGETS = 1_000_000;

/** A sync: what a caller names is kept, and what nobody names is forgotten. */
export interface Sync {
  /** Random, 16 hex digits. */
  readonly id: string;
  readonly state: SyncState;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  /** What the filter has once it is committed. */
  readonly capacity: number;
  readonly errorRate: number;
  /** Items taken by `keep` and not answered Kept.Forgotten. One that is listed again by another operation counts again. */
  readonly listed: number;
  /** How many of these were answered Kept.New. */
  readonly new: number;
  /** I: items of the filter, the listed ones that are new apart. Of a sync that is over: when it ended. */
  readonly items: number;
  /** K: of these, those that stay: listed, added or queued since the sync was opened, and not removed since. */
  readonly kept: number;
  /** Bytes of the layers that it fills. 0 once it is over. */
  readonly bytes: number;
  /** Why it was abandoned. Shown to callers. */
  readonly reason?: string;
}

/**
 * Items that a commit would forget, or has forgotten: max(0, I − K). K is low by about 0.14 p·I, since some of what is kept
 * tests positive by others' cells when it comes; and high by p for each item that is newly listed.
 */
export function forgottenBy({ items, kept }: Pick<Sync, 'items' | 'kept'>): number {
  return Math.max(0, items - kept);
}

/** What `keep` answers per item. */
export const Kept = {
  /** It was in the filter, or listed before, and stays. */
  Present: 0,
  /** It was not in the filter. It is from now on. */
  New: 1,
  /** It was removed since the sync was opened, and not added since: it is not kept. */
  Forgotten: 2,
} as const;

/**
 * Keeps of a filter what is on a list, and forgets the rest. A sync is a second list of layers, beside the filter's own.
 * While it is open,
 *
 * - `check` finds what either claims;
 * - `add` stores in both what neither claims, which is new. What the own list claims it stores in the second, too. What only
 *   the second claims is not new, and stays there only;
 * - `keep` stores in the second only, unless the item was removed since the sync was opened;
 * - `remove` takes from both, in each from the oldest layer that claims the item. Every removal, also of what is absent,
 *   is noted until the item is added again, so that the order of removal and line does not matter;
 * - what waits, is leased, delayed or dead in the queue when the sync is opened is kept, before `open` answers or, if that takes
 *   too long, soon after, and at the latest before it is committed. What is acknowledged or purged before that is kept, too. If
 *   the second list has no room for it, the sync is given up.
 *
 * A commit makes the second list the filter's own. For each item that is one moment. Handles that were opened before are
 * outdated then (StaleFilterError), since positions may be others. Giving up drops the second list; nothing is lost.
 *
 * Calls throw as `Counters` do, SYNC_NOT_FOUND for an id that is neither that of the filter's last sync nor of one that ended within
 * the last 24 hours, and SYNC_ENDED if the sync can no longer do what is asked. `multiset` filters have none: SYNC_UNSUPPORTED.
 */
export interface Syncs {
  /**
   * Opens a sync; its memory is reserved before anything changes. Throws SYNC_EXISTS while one is open or committing, STORE_FULL
   * and QUOTA_EXCEEDED as `Store.create`. A repeat answers the same sync as it is then, also when it is over and others were opened.
   */
  open(filter: Filter, plan: SyncPlan, operation: Operation, quota?: Quota): Promise<Sync>;

  /**
   * The sync of this id. It counts as a call of the sync, but a store need not write that: after a crash `tend` may go by
   * an earlier call.
   */
  get(filter: Filter, id: string): Promise<Sync>;

  /**
   * Keeps items: one of Kept per item, in the batch's order. Recorded under its operation as an add is. Throws
   * SYNC_ENDED unless the sync is open, and FILTER_FULL if the second list has no room.
   */
  keep(filter: Filter, id: string, positions: Positions, operation: Operation): Promise<Uint8Array>;

  /**
   * Forgets what is not kept. Answers when that is done, or with state `committing` when time is up. Throws SYNC_WOULD_FORGET,
   * before any change, if more than the share `most` (0 to 1) of the filter's items would be forgotten. Repeating it is harmless.
   */
  commit(filter: Filter, id: string, most: number, deadline: number): Promise<Sync>;

  /** Gives a sync up. Throws SYNC_ENDED if it is committing or committed. Repeating it is harmless. */
  abandon(filter: Filter, id: string, deadline: number): Promise<Sync>;

  /**
   * Gives up the syncs that nobody has called for the store's `syncIdleMs`, and goes on with those that were committing when their
   * instance died. To be called now and then, by any instance.
   */
  tend(): Promise<void>;
}
