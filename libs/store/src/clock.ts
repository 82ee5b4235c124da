/**
 * The time by which stores and services decide: ages, ends of leases, windows of records, validity of keys, intervals.
 *
 * Real time, which no test moves, has two uses. The deadline of a call bounds a real wait, for a disk or for Redis
 * (`deadlineIn`, `msUntil`). And the service measures the pace of a client, turns of the event loop and lines in the
 * log.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since some moment. A change of the machine's time does not move it. */
  monotonic(): number;
  /** Only on a clock that tests move. */
  readonly shift?: ClockShift;
}

/** The moves of a clock away from the machine's time. */
export interface ClockShift {
  /** How far `now` is ahead. A store adds it to the time of the servers that it asks. */
  readonly aheadMs: number;
  /** Calls `moved` after each move, until the returned function is called. */
  onMove(moved: () => void): () => void;
}

export const SYSTEM_CLOCK: Clock = { now: () => Date.now(), monotonic: () => performance.now() };

/** The deadline of a call that may take `ms`, in real time, as ms since the epoch. */
export const deadlineIn = (ms: number): number => SYSTEM_CLOCK.now() + ms;

/** Milliseconds until a deadline: negative once it is over. */
export const msUntil = (deadline: number): number => deadline - SYSTEM_CLOCK.now();
