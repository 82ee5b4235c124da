import type { Database } from './database.js';
import type { FilterState } from './filter-state.js';
import { GENERATION_BYTES, prefixRange, readNumber, writeNumber } from './keys.js';

/** Where an entry stands in line. `until`: when its lease ends (ms), 0 while it waits. */
export interface Place {
  readonly until: number;
  readonly sequence: number;
}

/** What stands there. `lease` is the number of its lease, 0 while it waits. */
export interface Entry {
  readonly hash: Buffer;
  readonly lease: number;
  readonly attempt: number;
  readonly payload: string;
}

/** An entry and its place. */
export interface Standing {
  readonly place: Place;
  readonly entry: Entry;
}

export const HASH_BYTES = 16;
/** The parts of the line, as its keys name them. */
export const WAITING = 0;
export const LEASED = 1;
const LEASE_AT = HASH_BYTES;
const ATTEMPT_AT = LEASE_AT + 8;
const PAYLOAD_AT = ATTEMPT_AT + 4;

/** Written over again and again: the database copies what is put. Grown to the longest payload. */
let scratch = Buffer.alloc(4096);

/** Hash, lease (8 bytes), attempt (4), payload; valid until the next call. */
export function encodeEntry({ hash, lease, attempt, payload }: Entry): Buffer {
  const most = PAYLOAD_AT + payload.length * 3;
  if (scratch.length < most) scratch = Buffer.alloc(most);
  scratch.set(hash);
  writeNumber(scratch, lease, LEASE_AT);
  scratch.writeUInt32BE(attempt, ATTEMPT_AT);
  return scratch.subarray(0, PAYLOAD_AT + scratch.write(payload, PAYLOAD_AT));
}

export function decodeEntry(value: Buffer): Entry {
  return {
    hash: value.subarray(0, HASH_BYTES),
    lease: readNumber(value, LEASE_AT),
    attempt: value.readUInt32BE(ATTEMPT_AT),
    payload: value.toString('utf8', PAYLOAD_AT),
  };
}

const itemHash = Buffer.alloc(HASH_BYTES);

/** An item's 128-bit hash, as its queue entry is keyed by it; valid until the next call. */
export function hashBytes(hash: Uint32Array, item: number): Buffer {
  for (let word = 0; word < 4; word++) itemHash.writeUInt32BE(hash[item * 4 + word] as number, word * 4);
  return itemHash;
}

/** Counts the leases of a visited set in its order, after a restart. */
export function countLeases(database: Database, state: FilterState): void {
  const range = prefixRange(Buffer.concat([state.key, Buffer.of(LEASED)]));
  const { leasedUntil } = state.queue;
  for (const key of database.order.getKeys(range)) {
    const until = readNumber(key, GENERATION_BYTES + 1);
    leasedUntil.set(until, (leasedUntil.get(until) ?? 0) + 1);
  }
}

/** Leases that have ended count as waiting: their entries are handed out again. */
export function queueCounts(state: FilterState, now: number): { waiting: number; leased: number } {
  let leased = 0;
  for (const [until, count] of state.queue.leasedUntil) if (until > now) leased += count;
  return { waiting: state.queue.entries - leased, leased };
}
