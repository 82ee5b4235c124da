import type { Operation } from '../store.js';
import type { StoreError } from '../errors.js';
import { keyExpired, keyReused } from '../refusals.js';
import type { Refusal } from './scripts/script.js';

/** How long operation records are kept at least, ms, unless their memory bound is reached. */
export const WINDOW_MS = { caller: 24 * 3600 * 1000, made: 60 * 1000 } as const;

/** ARGV 3 to 8 of every mutation; see RECALL in scripts/script.ts. */
export function operationArgs(
  operation: Operation,
  field: string,
  maxRecordBytes: number,
  attempt: number,
): (string | number)[] {
  // The first try of a new id has no record to miss; its clock is not compared with the server's.
  const repeated = operation.repeat || attempt > 1;
  return [
    operation.origin,
    field,
    operation.fingerprint,
    WINDOW_MS[operation.origin],
    // Two windows are kept, the current and the previous one.
    Math.floor(maxRecordBytes / 2),
    repeated && operation.madeAt !== undefined ? operation.madeAt : '',
  ];
}

/** The error for a refused operation, other than LOST. */
export function refusal(word: Exclude<Refusal, 'LOST'>, operation: Operation): StoreError {
  return word === 'REUSED' ? keyReused(operation) : keyExpired(operation);
}
