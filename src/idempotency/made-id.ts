import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * Operation ids that the service makes for requests without an Idempotency-Key: UUIDv7 (RFC 9562) whose 74 free bits
 * are not all random:
 *
 *   bytes 0-5    ms since the epoch
 *   byte  6, 7   version, 12 bits of a counter
 *   byte  8, 9   variant, 14 bits of the counter
 *   bytes 10-12  fingerprint of the request (24 bits)
 *   bytes 13-15  mark: checksum of bytes 0-12
 *
 * An id that comes back in a retry is thereby known, by every instance and without any state, to be the service's own
 * (the mark), to be of a certain age (its record is kept for a short time only, and an answer must not be computed anew
 * once it may be gone), and to belong to this very request (the fingerprint). The mark is a checksum, not a signature:
 * who forges one gets a shorter memory for his own retries, nothing else. A caller's own UUIDv7 passes for a made one
 * with probability 2^-24.
 *
 * The counter starts at random and makes ids of one process unique; two processes collide only in the same
 * millisecond, at the same count, with the same fingerprint.
 */
const COUNTER_BITS = 26;
const MARK_SEED = 0x756e7365;

const scratch = Buffer.alloc(16);
let counter = randomInt(2 ** COUNTER_BITS);

export interface MadeId {
  /** Milliseconds since the epoch. */
  readonly madeAt: number;
  /** Low 24 bits of the request's fingerprint. */
  readonly fingerprint: number;
}

/** A new id for a request with this 32-bit fingerprint, of which 24 bits are kept. */
export function makeId(fingerprint: number, now: number): string {
  counter = (counter + 1) & (2 ** COUNTER_BITS - 1);
  scratch.writeUIntBE(now, 0, 6);
  scratch.writeUInt16BE(0x7000 | (counter >>> 14), 6);
  scratch.writeUInt16BE(0x8000 | (counter & 0x3fff), 8);
  scratch.writeUIntBE(fingerprint & 0xffffff, 10, 3);
  scratch.writeUIntBE(markOf(scratch), 13, 3);
  const hex = scratch.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** What an id of `makeId` carries; undefined for any other string. */
export function readMadeId(id: string): MadeId | undefined {
  if (id.length !== 36 || !UUID_V7.test(id)) return undefined;
  const bytes = Buffer.from(id.replaceAll('-', ''), 'hex');
  if (bytes.readUIntBE(13, 3) !== markOf(bytes)) return undefined;
  return { madeAt: bytes.readUIntBE(0, 6), fingerprint: bytes.readUIntBE(10, 3) };
}

function markOf(bytes: Buffer): number {
  return crc32(bytes.subarray(0, 13), MARK_SEED) & 0xffffff;
}
