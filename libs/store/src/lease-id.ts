/** What the opaque id of a leased queue entry says. */
export interface LeaseId {
  readonly segment: number;
  /** The item's 128-bit hash as 16 bytes: the identity of the queue entry inside its segment. */
  readonly hash: Uint8Array;
  /** Number of the lease, so that the id of an earlier lease never settles a later one. */
  readonly lease: number;
}

const HASH_AT = 4;
const LEASE_AT = 20;
const BYTES = 27;
/** 27 bytes fill 36 base64url characters to the last bit, so that an id has one spelling. */
const PATTERN = /^[A-Za-z0-9_-]{36}$/;

/**
 * Segment (4 bytes), hash (16), lease number (7), big-endian, as base64url. Throws RangeError if the hash has not
 * 16 bytes or a number does not fit.
 */
export function encodeLeaseId(id: LeaseId): string {
  if (id.hash.length !== LEASE_AT - HASH_AT) throw new RangeError('the hash of an item has 16 bytes');
  if (!Number.isSafeInteger(id.lease) || id.lease < 0) throw new RangeError(`no lease number: ${id.lease}`);
  const bytes = Buffer.alloc(BYTES);
  bytes.writeUInt32BE(id.segment, 0);
  bytes.set(id.hash, HASH_AT);
  bytes.writeUIntBE(Math.floor(id.lease / 2 ** 32), LEASE_AT, 3);
  bytes.writeUInt32BE(id.lease % 2 ** 32, LEASE_AT + 3);
  return bytes.toString('base64url');
}

/** The parts of an id, or undefined for a string that `encodeLeaseId` cannot have made. */
export function decodeLeaseId(id: string): LeaseId | undefined {
  if (!PATTERN.test(id)) return undefined;
  const bytes = Buffer.from(id, 'base64url');
  const lease = bytes.readUIntBE(LEASE_AT, 3) * 2 ** 32 + bytes.readUInt32BE(LEASE_AT + 3);
  if (!Number.isSafeInteger(lease)) return undefined;
  return { segment: bytes.readUInt32BE(0), hash: bytes.subarray(HASH_AT, LEASE_AT), lease };
}
