import type { EntryName } from '../../entry-id.js';
import { MAX_ATTEMPT, type QueuedItem } from '../../port/index.js';
import { HEAD_BYTES, HOST_BYTES, STORED_PRIORITIES } from '../scripts/queue-state.js';

const ATTEMPT_AT = 1;
const BIRTH_AT = 4;
const DISCOVERED_AT = 10;
const HASH_AT = 14;
const LENGTH_AT = 30;

/** The parts that distinguish an entry from all others in its queue. */
export type Born = Pick<EntryName, 'birth' | 'hash'>;

/** A queue entry as stored: see scripts/queue-state.ts. */
export interface KeptEntry extends QueuedItem, Born {
  /** Stored size in bytes. */
  readonly size: number;
}

/** The entry that begins at byte `at`, from a queue with or without `perHost`. Throws if it is cut short. */
export function readEntry(bytes: Buffer, at: number, hosts = false): KeptEntry {
  const head = bytes.subarray(at, at + HEAD_BYTES);
  if (head.length < HEAD_BYTES) throw truncated();
  const size = HEAD_BYTES + head.readUInt32BE(LENGTH_AT);
  if (at + size > bytes.length) throw truncated();
  const priority = STORED_PRIORITIES[head[0] ?? 0];
  return {
    attempt: head.readUIntBE(ATTEMPT_AT, 3),
    ...(priority !== 'normal' && { priority }),
    birth: head.readUIntBE(BIRTH_AT, 6),
    discoveredAt: head.readUInt32BE(DISCOVERED_AT),
    hash: head.subarray(HASH_AT, LENGTH_AT),
    payload: bytes.subarray(at + HEAD_BYTES + (hosts ? HOST_BYTES : 0), at + size),
    size,
  };
}

/**
 * An entry in its stored format, without its birth: the script that queues the entry sets that. `hostWord`: in a
 * per-host queue, the second word of its host's hash.
 */
export function writeEntry(
  { attempt, priority = 'normal', discoveredAt, hash, payload }: QueuedItem,
  hostWord?: number,
): Buffer {
  const more = hostWord === undefined ? 0 : HOST_BYTES;
  const head = Buffer.alloc(HEAD_BYTES + more);
  head[0] = STORED_PRIORITIES.indexOf(priority);
  head.writeUIntBE(Math.min(attempt, MAX_ATTEMPT), ATTEMPT_AT, 3);
  head.writeUIntBE(0, BIRTH_AT, 6);
  head.writeUInt32BE(discoveredAt, DISCOVERED_AT);
  head.set(hash, HASH_AT);
  head.writeUInt32BE(payload.length + more, LENGTH_AT);
  if (hostWord !== undefined) head.writeUInt32BE(hostWord, HEAD_BYTES);
  return Buffer.concat([head, payload]);
}

function truncated(): Error {
  return new Error('a queue entry is truncated');
}
