import { msUntil } from '../../clock.js';
import { StoreError } from '../../errors.js';
import { within } from '../../within.js';

/** Throws STORE_UNAVAILABLE if a deadline (ms since the epoch) has passed, because the caller no longer waits. */
export function assertInTime(deadline: number): void {
  if (msUntil(deadline) < 0) throw late();
}

/**
 * Resolves with the result of `work`, or throws STORE_UNAVAILABLE at the deadline. The work itself continues and
 * records its change under its operation, so a repeat gets the same answer.
 */
export async function byDeadline<T>(deadline: number, work: Promise<T>): Promise<T> {
  return within(msUntil(deadline), work, late);
}

function late(): StoreError {
  return new StoreError('STORE_UNAVAILABLE', 'writing to the data directory timed out; retry');
}
