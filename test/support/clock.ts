/**
 * The time that the stores of a test file go by: real time, and what the tests have moved it. So nothing is slept through,
 * and a lease is as long on a slow machine as on a fast one.
 */
export const clock = {
  aheadMs: 0,
  /** Milliseconds since the epoch. */
  now: (): number => Date.now() + clock.aheadMs,
  monotonic: (): number => performance.now() + clock.aheadMs,
  /** Moves the time by so many ms. */
  advance(ms: number): void {
    clock.aheadMs += ms;
  },
  /** Moves the time to where the next period of so many ms begins, so that none ends while a test runs. */
  toStartOf(ms: number): void {
    clock.advance(ms - (clock.now() % ms));
  },
};
