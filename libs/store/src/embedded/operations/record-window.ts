import { RETENTION_MS, retainedSeconds } from '../../retention.js';
import type { Operation } from '../../port/index.js';

/**
 * How long operation records are kept. New records go into the current window. The store keeps the previous window and
 * deletes older ones. So it keeps a record for at least one window length and at most two, unless the limit on bytes
 * has made windows shorter.
 */
export interface RecordWindow {
  /** Number of the current window. The previous window's number is one less. */
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly previousStartedAt: number;
  /** Size of the records in the current window. */
  readonly bytes: number;
}

export type Origin = Operation['origin'];

/** An owner of operation records: a filter's generation, or the names. */
export interface RecordScope {
  /** The prefix of all record keys. */
  readonly key: Buffer;
  /** Milliseconds since the epoch. Earlier operations' records were deleted with an earlier scope. */
  readonly since: number;
  /** Sequence number of the scope's last journal record, or 0 if there is none. */
  lastChange: number;
  windows: { caller: RecordWindow; made: RecordWindow };
}

/** A new scope's windows: the current one, and a previous one without records. */
export function freshWindows(now: number): { caller: RecordWindow; made: RecordWindow } {
  const fresh = (origin: Origin): RecordWindow => ({
    number: 1,
    startedAt: now,
    previousStartedAt: now - RETENTION_MS[origin],
    bytes: 0,
  });
  return { caller: fresh('caller'), made: fresh('made') };
}

/** The window for a record written now. A new one if the current one has reached its limit on time or bytes. */
export function windowAt(window: RecordWindow, origin: Origin, now: number, maxBytes: number): RecordWindow {
  const age = now - window.startedAt;
  const length = RETENTION_MS[origin];
  if (age >= 2 * length) {
    return { number: window.number + 2, startedAt: now, previousStartedAt: now - length, bytes: 0 };
  }
  if (age >= length || window.bytes >= maxBytes / 2) {
    return { number: window.number + 1, startedAt: now, previousStartedAt: window.startedAt, bytes: 0 };
  }
  return window;
}

/** See FilterStats. While the second window is current, the first is still kept, so no record has been deleted. */
export function windowSeconds(window: RecordWindow, origin: Origin, now: number): number {
  return retainedSeconds(origin, window.number > 2 ? now - window.previousStartedAt : undefined);
}
