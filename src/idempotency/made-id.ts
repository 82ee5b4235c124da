import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * Operation ids that the service generates for requests without an Idempotency-Key: a fixed word, then 18 bytes in
 * hexadecimal:
 *
 *   bytes 0-5    ms since the epoch
 *   bytes 6-9    counter
 *   bytes 10-13  fingerprint of the request
 *   bytes 14-17  checksum of bytes 0-13
 *
 * From an id in a retry, every instance knows three things without any state. The first is that the service generated
 * it: a caller's own key, such as a UUID, never has this word and checksum by chance. The second is its age. The record
 * is kept only for a short time, and once it may be gone, the service must not execute the request again. The third is
 * its request, because the fingerprint must match. The checksum is not a signature, but a caller who forges one only
 * shortens the memory for their own retries.
 *
 * The counter starts at a random value and makes a process's ids unique. Two processes' ids are equal only in the same
 * millisecond, with the same count and the same fingerprint.
 */
const WORD = 'unseen-';
const FORM = /^unseen-[0-9a-f]{36}$/;
const BYTES = 18;
const CHECKSUM_AT = 14;

const scratch = Buffer.alloc(BYTES);
const checked = scratch.subarray(0, CHECKSUM_AT);
let counter = randomInt(2 ** 32);

export interface MadeId {
  /** In milliseconds since the epoch. */
  readonly madeAt: number;
  /** The request's fingerprint, 32 bits. */
  readonly fingerprint: number;
}

/** Generates an id for a request with this 32-bit fingerprint. */
export function makeId(fingerprint: number, now: number): string {
  counter = (counter + 1) >>> 0;
  scratch.writeUIntBE(now, 0, 6);
  scratch.writeUInt32BE(counter, 6);
  scratch.writeUInt32BE(fingerprint, 10);
  scratch.writeUInt32BE(crc32(checked), CHECKSUM_AT);
  return WORD + scratch.toString('hex');
}

/** Reads an id from `makeId`. Returns undefined for any other string. */
export function readMadeId(id: string): MadeId | undefined {
  if (!FORM.test(id)) return undefined;
  scratch.write(id.slice(WORD.length), 'hex');
  if (scratch.readUInt32BE(CHECKSUM_AT) !== crc32(checked)) return undefined;
  return { madeAt: scratch.readUIntBE(0, 6), fingerprint: scratch.readUInt32BE(10) };
}
