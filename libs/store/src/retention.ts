import type { Operation } from './port/index.js';

/** Default limit on the operation records of one filter (on Redis: of one segment) and origin, in bytes. */
export const DEFAULT_RECORD_BYTES = 64 * 2 ** 20;

/**
 * Forgotten items that are noted for the queue of a visited set (on Redis: of a segment), unless an eighth of its entries is
 * more, before its entries are looked through and the forgotten ones taken out. Unless a store is told otherwise.
 */
export const DEFAULT_MAX_MARKS = 100_000;

/** How long operation records are kept at least, in ms, unless the bound on their memory is reached. */
export const RETENTION_MS: Readonly<Record<Operation['origin'], number>> = {
  caller: 86_400_000,
  made: 60_000,
};

/**
 * FilterStats.recordWindowSeconds of an origin. `keptMs` says how long ago the oldest window that is kept began;
 * undefined if no window has been forgotten.
 */
export function retainedSeconds(origin: Operation['origin'], keptMs: number | undefined): number {
  const most = RETENTION_MS[origin];
  return Math.floor(Math.min(most, Math.max(0, keptMs ?? most)) / 1000);
}
