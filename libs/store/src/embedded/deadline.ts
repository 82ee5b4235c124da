import { StoreError } from '../errors.js';
import { within } from '../within.js';

/** STORE_UNAVAILABLE once a deadline (ms since the epoch) has passed: nobody waits for the answer any more. */
export function assertInTime(deadline: number): void {
  if (Date.now() > deadline) throw late();
}

/**
 * What `work` comes to, or STORE_UNAVAILABLE at the deadline. The work itself goes on: what it changes is recorded
 * under its operation, so that a repeat is answered as it would have been.
 */
export async function byDeadline<T>(deadline: number, work: Promise<T>): Promise<T> {
  return within(deadline - Date.now(), work, late);
}

function late(): StoreError {
  return new StoreError('STORE_UNAVAILABLE', 'the data directory did not take the change in time');
}
