/**
 * How a sync ended: `committed`, or why it was abandoned. `caller`: by a call. `idle`: no call used it for too long.
 * `forgets`: too many removals to note. `full`: no room for added items. `memory`: the store had no memory. `lost`: the
 * store lost data. `opening`: the instance that was opening it died.
 */
export const SYNC_OUTCOMES = [
  'committed',
  'caller',
  'idle',
  'forgets',
  'full',
  'memory',
  'lost',
  'opening',
] as const;
export type SyncOutcome = (typeof SYNC_OUTCOMES)[number];

/** Learns what a store does, for metrics. Its methods must return quickly and not throw. */
export interface StoreObserver {
  /**
   * Redis has replied to a script, `ms` after the store sent it. If changes wait for replicas, this includes the wait.
   * `verb`: the script's purpose, one of a fixed number.
   */
  ranScript(verb: string, ms: number): void;
  /** A sync has ended, other than by clearing or dropping its filter. Of all instances, at most one reports each end. */
  endedSync(outcome: SyncOutcome): void;
}

/** Ignores everything. */
export const NO_OBSERVER: StoreObserver = { ranScript: () => undefined, endedSync: () => undefined };
