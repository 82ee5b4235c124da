import type { Operation } from './store.js';

/** Bytes of operation records of one filter (on Redis: of one segment) and origin, unless a store is told otherwise. */
export const DEFAULT_RECORD_BYTES = 64 * 2 ** 20;

/** How long operation records are kept at least, in ms, unless the bound on their memory is reached. */
export const RETENTION_MS: Readonly<Record<Operation['origin'], number>> = {
  caller: 86_400_000,
  made: 60_000,
};

/**
 * FilterStats.recordWindowSeconds of an origin. `keptMs`: how long ago the oldest window that is kept began; undefined if
 * none has been forgotten.
 */
export function retainedSeconds(origin: Operation['origin'], keptMs: number | undefined): number {
  const most = RETENTION_MS[origin];
  return Math.floor(Math.min(most, Math.max(0, keptMs ?? most)) / 1000);
}
