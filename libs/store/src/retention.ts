import type { Operation } from './port/index.js';

/** Default limit on operation records per filter (on Redis: per segment) and origin, in bytes. */
export const DEFAULT_RECORD_BYTES = 64 * 2 ** 20;

/**
 * Default number of marks in a visited set's queue (on Redis: in a segment's) at which a sweep for forgotten entries
 * begins. For a queue of more than eight times this many entries, it is an eighth of the entries.
 */
export const DEFAULT_MAX_MARKS = 100_000;

/** Minimum time for which operation records are kept, in ms, unless they reach their memory limit. */
export const RETENTION_MS: Readonly<Record<Operation['origin'], number>> = {
  caller: 86_400_000,
  made: 60_000,
};

/**
 * FilterStats.recordWindowSeconds for an origin. `keptMs` is the time since the oldest remaining window began, or
 * undefined if no window has been dropped.
 */
export function retainedSeconds(origin: Operation['origin'], keptMs: number | undefined): number {
  const most = RETENTION_MS[origin];
  return Math.floor(Math.min(most, Math.max(0, keptMs ?? most)) / 1000);
}
