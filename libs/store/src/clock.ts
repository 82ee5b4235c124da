/**
 * The clock behind every decision that depends on time: item ages, lease ends, record windows, key validity and
 * intervals. Tests can move it.
 *
 * Tests can't move real time. It is for the deadlines of calls that wait for a disk or for Redis (`deadlineIn`,
 * `msUntil`), and for measurements, such as the length of an event-loop turn.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since an arbitrary moment, unaffected by changes to the system clock. */
  monotonic(): number;
  /** Only on a clock that tests can move. */
  readonly shift?: ClockShift;
}

/** A clock's offset from the system clock. */
export interface ClockShift {
  /** How far `now` is ahead. A Redis store also adds this to the server's time. */
  readonly aheadMs: number;
  /** Calls `moved` after each move, until the returned function is called. */
  onMove(moved: () => void): () => void;
}

export const SYSTEM_CLOCK: Clock = { now: () => Date.now(), monotonic: () => performance.now() };

/** The deadline of a call that may take `ms` of real time, in ms since the epoch. */
export const deadlineIn = (ms: number): number => SYSTEM_CLOCK.now() + ms;

/** Real milliseconds until a deadline, or negative once it has passed. */
export const msUntil = (deadline: number): number => deadline - SYSTEM_CLOCK.now();
