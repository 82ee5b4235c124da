/**
 * The time that stores and services decide by: ages, ends of leases, windows of records, validity of keys, intervals.
 *
 * Real time, which no test moves, is for two things only. The deadline of a call bounds a real wait, for a disk or for Redis
 * (`deadlineIn`, `msUntil`). And the pace of a client, the turns of the event loop and lines in the log are measured.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since some moment, which no change of the machine's time moves. */
  monotonic(): number;
  /** Only of a clock that tests move. */
  readonly shift?: ClockShift;
}

/** How a clock was moved away from the machine's time. */
export interface ClockShift {
  /** How far `now` is ahead. A store adds it to the time of the servers that it asks. */
  readonly aheadMs: number;
  /** Calls `moved` after each move, until the answered function is called. */
  onMove(moved: () => void): () => void;
}

export const SYSTEM_CLOCK: Clock = { now: () => Date.now(), monotonic: () => performance.now() };

/** The deadline of a call that may take so long, in ms since the epoch of real time. */
export const deadlineIn = (ms: number): number => SYSTEM_CLOCK.now() + ms;

/** The time until a deadline in ms: negative once it is over. */
export const msUntil = (deadline: number): number => deadline - SYSTEM_CLOCK.now();
