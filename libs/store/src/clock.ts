/**
 * The time that stores and services decide by: ages, ends of leases, windows of records, validity of keys, intervals.
 *
 * A wait that only bounds real work, such as a timeout of a call to Redis, is a timer of Node's and goes by real time.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since some moment, which no change of the machine's time moves. */
  monotonic(): number;
}

export const SYSTEM_CLOCK: Clock = { now: () => Date.now(), monotonic: () => performance.now() };
