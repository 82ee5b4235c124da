import { type Geometry, HOST_HASH_SCHEME } from '#bloom';

/** The contents of a queue entry's opaque id. */
export interface EntryId {
  /** Whether the id names an entry of a lease or a dead letter. */
  readonly of: 'lease' | 'dead-letter';
  readonly segment: number;
  /** Number of the lease or dead letter in its segment: below 2^48. */
  readonly number: number;
  /** Index of the entry in its lease, from 0; 0 for a dead letter. */
  readonly index: number;
  /**
   * The first HASH_PREFIX_BYTES of the item's hash, see hashPrefixAt. A store that lost its last writes reuses their numbers. Without the
   * prefix, an old id would then settle the entry of another item.
   */
  readonly hashPrefix: Uint8Array;
}

const HASH_PREFIX_BYTES = 8;
const WORD_BYTES = 4;

/** Where the prefix begins in a hash. In hash scheme 3, it follows the first word, which all URLs of a host share. */
export function hashPrefixAt({ hashScheme }: Pick<Geometry, 'hashScheme'>): number {
  return hashScheme === HOST_HASH_SCHEME ? WORD_BYTES : 0;
}

/** The prefix of a hash: a view. */
export function hashPrefixOf(hash: Uint8Array, geometry: Pick<Geometry, 'hashScheme'>): Uint8Array {
  const at = hashPrefixAt(geometry);
  return hash.subarray(at, at + HASH_PREFIX_BYTES);
}

const OF = ['lease', 'dead-letter'] as const;
const SEGMENT_AT = 1;
const NUMBER_AT = 5;
const INDEX_AT = 11;
const HASH_AT = 13;
/** 21 bytes fill 28 base64url characters exactly, so each id has one spelling. */
const BYTES = HASH_AT + HASH_PREFIX_BYTES;
const PATTERN = /^[A-Za-z0-9_-]{28}$/;

/**
 * Kind (1 byte), segment (4), number (6), index (2) and hash prefix (8), big-endian, as base64url. Throws RangeError if
 * a number does not fit or the prefix has another length.
 */
export function encodeEntryId({ of, segment, number, index, hashPrefix }: EntryId): string {
  if (hashPrefix.length !== HASH_PREFIX_BYTES) {
    throw new RangeError(`a hash prefix has ${HASH_PREFIX_BYTES} bytes, not ${hashPrefix.length}`);
  }
  const bytes = Buffer.allocUnsafe(BYTES);
  bytes[0] = OF.indexOf(of);
  bytes.writeUInt32BE(segment, SEGMENT_AT);
  bytes.writeUIntBE(number, NUMBER_AT, 6);
  bytes.writeUInt16BE(index, INDEX_AT);
  bytes.set(hashPrefix, HASH_AT);
  return bytes.toString('base64url');
}

/** The parts of an id, or undefined for a string that `encodeEntryId` cannot have made. */
export function decodeEntryId(id: string): EntryId | undefined {
  if (!PATTERN.test(id)) return undefined;
  const bytes = Buffer.from(id, 'base64url');
  const of = OF[bytes[0] as number];
  if (of === undefined) return undefined;
  return {
    of,
    segment: bytes.readUInt32BE(SEGMENT_AT),
    number: bytes.readUIntBE(NUMBER_AT, 6),
    index: bytes.readUInt16BE(INDEX_AT),
    hashPrefix: bytes.subarray(HASH_AT),
  };
}
