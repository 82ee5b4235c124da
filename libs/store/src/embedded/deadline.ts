import { StoreError } from '../errors.js';

/** Longest that a timer can wait. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** STORE_UNAVAILABLE once a deadline (ms since the epoch) has passed: nobody waits for the answer any more. */
export function assertInTime(deadline: number): void {
  if (Date.now() > deadline) throw late();
}

/**
 * What `work` comes to, or STORE_UNAVAILABLE at the deadline. The work itself goes on: what it changes is recorded
 * under its operation, so that a repeat is answered as it would have been.
 */
export async function byDeadline<T>(deadline: number, work: Promise<T>): Promise<T> {
  const ms = deadline - Date.now();
  if (ms > MAX_TIMER_MS) return work;
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), Math.max(0, ms));
  });
  try {
    return await Promise.race([work, passed]);
  } finally {
    clearTimeout(timer);
  }
}

function late(): StoreError {
  return new StoreError('STORE_UNAVAILABLE', 'the data directory did not take the change in time');
}
