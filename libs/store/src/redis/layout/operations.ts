import type { Operation } from '../../port/index.js';
import type { StoreError } from '../../errors.js';
import { keyExpired, keyReused } from '../../refusals.js';
import { RETENTION_MS } from '../../retention.js';
import type { Refusal } from '../scripts/script.js';

/** ARGV 3 to 8 of every mutation; see RECALL in scripts/script.ts. */
export function operationArgs(
  operation: Operation,
  field: string,
  maxRecordBytes: number,
  attempt: number,
): (string | number)[] {
  // The first attempt with a new id can't have a record, so its time isn't compared with the server's clock.
  const repeated = operation.repeat || attempt > 1;
  return [
    operation.origin,
    field,
    operation.fingerprint,
    RETENTION_MS[operation.origin],
    windowBytes(maxRecordBytes),
    repeated && operation.madeAt !== undefined ? operation.madeAt : '',
  ];
}

/** Limit on a window's records, in bytes. Two windows are kept: the current and the previous one. */
export function windowBytes(maxRecordBytes: number): number {
  return Math.floor(maxRecordBytes / 2);
}

/** The error for a refused operation, except LOST. */
export function refusal(word: Exclude<Refusal, 'LOST'>, operation: Operation): StoreError {
  return word === 'REUSED' ? keyReused(operation) : keyExpired(operation);
}
