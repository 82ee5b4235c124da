import type { Operation } from './port/index.js';

/** Default limit on the operation records of one filter (on Redis: of one segment) and origin, in bytes. */
export const DEFAULT_RECORD_BYTES = 64 * 2 ** 20;

/**
 * Default number of marks in a visited set's queue (on Redis: in a segment's) that triggers a pass over the queue,
 * which removes the forgotten entries. If an eighth of its entries is more, that number applies.
 */
export const DEFAULT_MAX_MARKS = 100_000;

/** Minimum time that operation records are kept, in ms, unless they reach their memory limit. */
export const RETENTION_MS: Readonly<Record<Operation['origin'], number>> = {
  caller: 86_400_000,
  made: 60_000,
};

/**
 * FilterStats.recordWindowSeconds of an origin. `keptMs` is the time since the oldest remaining window began; undefined
 * if no window has been dropped.
 */
export function retainedSeconds(origin: Operation['origin'], keptMs: number | undefined): number {
  const most = RETENTION_MS[origin];
  return Math.floor(Math.min(most, Math.max(0, keptMs ?? most)) / 1000);
}
