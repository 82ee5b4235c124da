import { StoreError } from '../../errors.js';
import { keyExpired, keyReused } from '../../refusals.js';
import type { Operation } from '../../port/index.js';
import type { Database } from '../database/database.js';
import type { KeyRange } from '../database/keys.js';
import { windowAt, type RecordScope, type RecordWindow } from './record-window.js';
import { DamagedRow } from '../database/table.js';
import type { Verb } from './verbs.js';

/** An operation in its scope. In the scope of names, the name (`subject`) is part of its identity. */
export interface Identity<T> {
  readonly scope: RecordScope;
  readonly verb: Verb<T>;
  readonly operation: Operation;
  readonly subject?: string;
}

/**
 * An operation's recorded answer. Undefined if the operation isn't a repeat, or has not run before. Throws like
 * `findRecord`.
 */
export function recall<T>(database: Database, identity: Identity<T>, now: number): { answer: T } | undefined {
  const { scope, operation } = identity;
  if (!operation.repeat) return undefined;
  // A full window stays current until the next record begins a new one.
  const { origin } = operation;
  return findRecord(database, identity, windowAt(scope.windows[origin], origin, now, Infinity));
}

/** How many bytes a record takes in the database besides its key and value. */
const ENTRY_OVERHEAD = 16;
const NUMBER_OF_ORIGIN = { caller: 0, made: 1 } as const;

/**
 * An operation's answer, as recorded in `window` or the window before it, or undefined if there is none. Throws
 * IDEMPOTENCY_KEY_REUSED if the id was used for another request, and IDEMPOTENCY_KEY_EXPIRED if the operation may have
 * run but its record has been deleted. Throws STORE_DATA_LOST if the record is damaged, because the operation has run
 * but its answer is unknown.
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
    throw new StoreError('STORE_DATA_LOST', "this operation's record is damaged", { cause: error });
  }
}

/** Records an encoded answer in `window`. Returns how many bytes this took. */
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

/** Records from before the previous window, which can be deleted. */
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
