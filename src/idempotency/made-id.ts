import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * Operation ids that the service makes for requests without an Idempotency-Key: a word of their own, then 18 bytes in
 * hexadecimal:
 *
 *   bytes 0-5    ms since the epoch
 *   bytes 6-9    counter
 *   bytes 10-13  fingerprint of the request
 *   bytes 14-17  checksum of bytes 0-13
 *
 * An id that comes back in a retry is thereby known, by every instance and without any state, to be the service's own
 * (word and checksum: no key of a caller's own has this form by chance, as a UUID might have that of another UUID), to be of
 * a certain age (its record is kept for a short time only, and an answer must not be computed anew once it may be gone),
 * and to belong to this very request (the fingerprint). The checksum is no signature: who forges one gets a shorter memory
 * for his own retries, nothing else.
 *
 * The counter starts at random and makes ids of one process unique; two processes collide only in the same
 * millisecond, at the same count, with the same fingerprint.
 */
const WORD = 'unseen-';
const FORM = /^unseen-[0-9a-f]{36}$/;
const BYTES = 18;
const CHECKSUM_AT = 14;

const scratch = Buffer.alloc(BYTES);
const checked = scratch.subarray(0, CHECKSUM_AT);
let counter = randomInt(2 ** 32);

export interface MadeId {
  /** Milliseconds since the epoch. */
  readonly madeAt: number;
  /** Of the request, 32 bits. */
  readonly fingerprint: number;
}

/** A new id for a request with this 32-bit fingerprint. */
export function makeId(fingerprint: number, now: number): string {
  counter = (counter + 1) >>> 0;
  scratch.writeUIntBE(now, 0, 6);
  scratch.writeUInt32BE(counter, 6);
  scratch.writeUInt32BE(fingerprint, 10);
  scratch.writeUInt32BE(crc32(checked), CHECKSUM_AT);
  return WORD + scratch.toString('hex');
}

/** What an id of `makeId` carries; undefined for any other string. */
export function readMadeId(id: string): MadeId | undefined {
  if (!FORM.test(id)) return undefined;
  scratch.write(id.slice(WORD.length), 'hex');
  if (scratch.readUInt32BE(CHECKSUM_AT) !== crc32(checked)) return undefined;
  return { madeAt: scratch.readUIntBE(0, 6), fingerprint: scratch.readUInt32BE(10) };
}
