import { StoreError } from '../errors.js';
import { keyExpired, keyReused } from '../refusals.js';
import type { Operation } from '../store.js';
import type { Database } from './database.js';
import type { KeyRange } from './keys.js';
import type { RecordScope, RecordWindow } from './record-window.js';
import { DamagedRow } from './table.js';
import type { Verb } from './verbs.js';

/** An operation inside its scope. `subject` is part of its identity where the scope is the names: the name. */
export interface Identity<T> {
  readonly scope: RecordScope;
  readonly verb: Verb<T>;
  readonly operation: Operation;
  readonly subject?: string;
}

/** Bytes a record takes in the database beside its key and value. */
const ENTRY_OVERHEAD = 16;
const NUMBER_OF_ORIGIN = { caller: 0, made: 1 } as const;

/**
 * Fingerprint and answer of an operation in `window` or the one before. Undefined if there is none; throws
 * IDEMPOTENCY_KEY_REUSED if the id was used for something else, IDEMPOTENCY_KEY_EXPIRED if it may have been executed
 * and its record be gone since, STORE_DATA_LOST if the record is damaged: it was executed, its answer is not known.
 */
export function findRecord<T>(
  database: Database,
  identity: Identity<T>,
  window: RecordWindow,
): { answer: T } | undefined {
  const { operation, scope, verb } = identity;
  const bytes =
    readRecord(database, recordKey(identity, window.number)) ??
    readRecord(database, recordKey(identity, window.number - 1));
  if (bytes) {
    const end = 2 + bytes.readUInt16LE(0);
    if (bytes.toString('utf8', 2, end) !== operation.fingerprint) {
      throw keyReused(operation);
    }
    return { answer: verb.decode(bytes.subarray(end)) };
  }
  const keptSince = Math.max(window.previousStartedAt, scope.since);
  if (operation.madeAt !== undefined && operation.madeAt < keptSince) {
    throw keyExpired(operation);
  }
  return undefined;
}

function readRecord(database: Database, key: Buffer): Buffer | undefined {
  try {
    return database.records.get(key);
  } catch (error) {
    if (!(error instanceof DamagedRow)) throw error;
    throw new StoreError('STORE_DATA_LOST', 'the record of this operation is damaged', { cause: error });
  }
}

/** Records an answer, as its verb encodes it, in `window`; returns the bytes that took. */
export function putRecord<T>(
  database: Database,
  identity: Identity<T>,
  window: RecordWindow,
  answer: Uint8Array,
): number {
  const key = recordKey(identity, window.number);
  const fingerprint = Buffer.from(identity.operation.fingerprint);
  const length = Buffer.allocUnsafe(2);
  length.writeUInt16LE(fingerprint.length);
  const value = Buffer.concat([length, fingerprint, answer]);
  database.records.putSync(key, value);
  return key.length + value.length + ENTRY_OVERHEAD;
}

/** The records of a scope's windows before the previous one: to be deleted. */
export function outdatedRecords(scope: RecordScope, origin: Operation['origin']): KeyRange {
  const window = scope.windows[origin];
  return {
    start: windowKey(scope.key, origin, 0),
    end: windowKey(scope.key, origin, Math.max(0, window.number - 1)),
  };
}

function recordKey<T>(identity: Identity<T>, windowNumber: number): Buffer {
  const { scope, verb, operation, subject } = identity;
  const id = subject === undefined ? operation.id : `${subject}\0${operation.id}`;
  return Buffer.concat([
    windowKey(scope.key, operation.origin, windowNumber),
    Buffer.of(verb.number),
    Buffer.from(id),
  ]);
}

function windowKey(scope: Buffer, origin: Operation['origin'], windowNumber: number): Buffer {
  const key = Buffer.allocUnsafe(scope.length + 5);
  key.set(scope);
  key[scope.length] = NUMBER_OF_ORIGIN[origin];
  key.writeUInt32BE(windowNumber, scope.length + 1);
  return key;
}
