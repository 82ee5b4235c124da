/**
 * The time on which stores and services base decisions: ages, ends of leases, record windows, key validity, intervals.
 *
 * Tests don't move real time, which has two uses: call deadlines, which bound a real wait for a disk or for Redis
 * (`deadlineIn`, `msUntil`), and measuring the speed of clients, turns of the event loop and log lines.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since an arbitrary moment, unaffected by changes of the machine's time. */
  monotonic(): number;
  /** Only on a clock that tests move. */
  readonly shift?: ClockShift;
}

/** A clock's offset from the machine's time. */
export interface ClockShift {
  /** How far `now` is ahead. A store also adds it to its servers' time. */
  readonly aheadMs: number;
  /** Calls `moved` after each move, until the returned function is called. */
  onMove(moved: () => void): () => void;
}

export const SYSTEM_CLOCK: Clock = { now: () => Date.now(), monotonic: () => performance.now() };

/** The deadline of a call that may take `ms` of real time, in ms since the epoch. */
export const deadlineIn = (ms: number): number => SYSTEM_CLOCK.now() + ms;

/** Real milliseconds until a deadline. Negative after it. */
export const msUntil = (deadline: number): number => deadline - SYSTEM_CLOCK.now();
