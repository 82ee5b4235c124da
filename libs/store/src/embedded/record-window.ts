import { RETENTION_MS, retainedSeconds } from '../retention.js';
import type { Operation } from '../store.js';

/**
 * The time over which operation records are kept. Records go into the current window; the one before it is kept too,
 * older ones are deleted. A record is so kept for one length at least and two at most, unless the bound on bytes
 * made windows shorter.
 */
export interface RecordWindow {
  /** Of the current window; the previous one's is one less. */
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly previousStartedAt: number;
  /** Bytes of the records in the current window. */
  readonly bytes: number;
}

export type Origin = Operation['origin'];

/** What operation records belong to: a generation of a filter, or the names. */
export interface RecordScope {
  /** Every record's key begins with it. */
  readonly key: Buffer;
  /** Milliseconds since the epoch: records of operations made before, if there were any, went with an earlier scope. */
  readonly since: number;
  /** Sequence number of its last journal record; 0 if there was none. */
  lastChange: number;
  windows: { caller: RecordWindow; made: RecordWindow };
}

/** Windows of a new scope: the current one, and before it one without records. */
export function freshWindows(now: number): { caller: RecordWindow; made: RecordWindow } {
  const fresh = (origin: Origin): RecordWindow => ({
    number: 1,
    startedAt: now,
    previousStartedAt: now - RETENTION_MS[origin],
    bytes: 0,
  });
  return { caller: fresh('caller'), made: fresh('made') };
}

/** The window a record made now goes into: the same one, or a new one if that has had its time or its bytes. */
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

/** See FilterStats. The second window still has the first one before it: nothing has been forgotten. */
export function windowSeconds(window: RecordWindow, origin: Origin, now: number): number {
  return retainedSeconds(origin, window.number > 2 ? now - window.previousStartedAt : undefined);
}
