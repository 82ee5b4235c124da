import type { Filter, HostView, Sync } from '../../port/index.js';
import { decodeFilter, encodeFilter } from '../database/filter-json.js';
import { numberKey, readNumber } from '../database/keys.js';

/**
 * A kind of mutation: its number in operation records, and how its answer is encoded there. Numbers are never reused.
 */
export interface Verb<T> {
  readonly number: number;
  encode(answer: T): Uint8Array;
  decode(bytes: Buffer): T;
}

/** Packs one answer per item, each from 0 to 3: their count (4 bytes), then four answers per byte. */
export function packAnswers(answers: Uint8Array): Uint8Array {
  const packed = Buffer.alloc(4 + Math.ceil(answers.length / 4));
  packed.writeUInt32LE(answers.length, 0);
  for (let i = 0; i < answers.length; i++) {
    const at = 4 + (i >> 2);
    packed[at] = (packed[at] as number) | ((answers[i] as number) << ((i & 3) << 1));
  }
  return packed;
}

/** Reads the result of `packAnswers`. */
export function unpackAnswers(packed: Buffer): Uint8Array {
  const answers = new Uint8Array(packed.readUInt32LE(0));
  for (let i = 0; i < answers.length; i++) {
    answers[i] = ((packed[4 + (i >> 2)] as number) >> ((i & 3) << 1)) & 3;
  }
  return answers;
}

const answers = (number: number): Verb<Uint8Array> => ({
  number,
  encode: packAnswers,
  decode: unpackAnswers,
});

/** Each verb has a number in records. */
export const ADD = answers(1);
export const REMOVE = answers(2);
export const ACK = answers(3);
export const RELEASE = answers(4);

/** The record has only the lease's number, because a repeat returns the entries that the lease still holds. */
export const LEASE: Verb<number> = {
  number: 5,
  encode: numberKey,
  decode: (bytes) => readNumber(bytes),
};

export const CREATE: Verb<{ filter: Filter; created: boolean }> = {
  number: 6,
  encode: ({ filter, created }) => Buffer.concat([Buffer.of(created ? 1 : 0), encodeFilter(filter)]),
  decode: (bytes) => ({ created: bytes[0] === 1, filter: decodeFilter(bytes.subarray(1)) }),
};

const nothing = (number: number): Verb<void> => ({
  number,
  encode: () => new Uint8Array(0),
  decode: () => undefined,
});

export const DROP = nothing(7);

export const CLEAR: Verb<Filter> = { number: 8, encode: encodeFilter, decode: decodeFilter };

export const IMPORT: Verb<Filter> = { number: 9, encode: encodeFilter, decode: decodeFilter };

export const EXTEND = answers(10);
export const PUT_BACK = answers(11);
export const PURGE = answers(12);
export const KEEP = answers(13);

const text = (number: number): Verb<string> => ({
  number,
  encode: (answer) => Buffer.from(answer),
  decode: (bytes) => bytes.toString(),
});

/** The record has only the sync's id, because a repeat returns the sync's current state. */
export const OPEN_SYNC = text(14);

/** A sync's end, recorded under the sync's id, so that it is still available after other syncs were opened. */
export const END_SYNC: Verb<Sync> = {
  number: 15,
  encode: (sync) => Buffer.from(JSON.stringify(sync)),
  decode: (bytes) => JSON.parse(bytes.toString()) as Sync,
};

export const SET_HOST: Verb<HostView> = {
  number: 16,
  encode: (view) => Buffer.from(JSON.stringify(view)),
  decode: (bytes) => JSON.parse(bytes.toString()) as HostView,
};

/** The record has the number of dropped entries. */
export const DROP_HOST: Verb<number> = {
  number: 17,
  encode: numberKey,
  decode: (bytes) => readNumber(bytes),
};

export const DROP_ENTRIES = answers(18);

/** An operation that makes several calls. */
export const SEVERAL = text(19);
