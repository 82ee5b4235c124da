import { type Geometry, HOST_HASH_SCHEME } from '#bloom';

/** The contents of a queue entry's opaque id. */
export interface EntryId {
  /** Whether the id names a leased entry or a dead letter. */
  readonly of: 'lease' | 'dead-letter';
  readonly segment: number;
  /** Number of the lease or dead letter in its segment, below 2^48. */
  readonly number: number;
  /** Index of the entry in its lease, from 0. For a dead letter, 0. */
  readonly index: number;
  /**
   * HASH_PREFIX_BYTES of the item's hash (see hashPrefixAt). A store that has lost its last writes reuses their
   * numbers. Without the prefix, an old id would then settle another item's entry.
   */
  readonly hashPrefix: Uint8Array;
}

const HASH_PREFIX_BYTES = 8;
const WORD_BYTES = 4;

/** Where the prefix begins in a hash. In hash scheme 3, it follows the first word, which all URLs of a host share. */
export function hashPrefixAt({ hashScheme }: Pick<Geometry, 'hashScheme'>): number {
  return hashScheme === HOST_HASH_SCHEME ? WORD_BYTES : 0;
}

/** The prefix of a hash, as a view of the same bytes. */
export function hashPrefixOf(hash: Uint8Array, geometry: Pick<Geometry, 'hashScheme'>): Uint8Array {
  const at = hashPrefixAt(geometry);
  return hash.subarray(at, at + HASH_PREFIX_BYTES);
}

const OF = ['lease', 'dead-letter'] as const;
const GENERATION_AT = 1;
const ID_GENERATION_BYTES = 3;
const SEGMENT_AT = GENERATION_AT + ID_GENERATION_BYTES;
const NUMBER_AT = SEGMENT_AT + 4;
const INDEX_AT = NUMBER_AT + 6;
const HASH_AT = INDEX_AT + 2;
/** 24 bytes fill 32 base64url characters exactly, so each id has one spelling. */
const BYTES = HASH_AT + HASH_PREFIX_BYTES;
const PATTERN = /^[A-Za-z0-9_-]{32}$/;

/** The first bytes of a generation, as a number. This takes half the time of Buffer's 'hex' encoding. */
function startOf(generation: string): number {
  return Number.parseInt(generation.slice(0, 2 * ID_GENERATION_BYTES), 16);
}

/**
 * Encodes as base64url: the kind (1 byte), the first bytes of the generation (3), segment (4), number (6), index (2)
 * and hash prefix (8), big-endian. An imported set has the hashes of the exported one and counts its leases from 1
 * again. But its generation differs, so an id from one set practically never settles an entry in the other. Throws
 * RangeError if a number does not fit or the prefix has a different length.
 */
export function encodeEntryId(
  generation: string,
  { of, segment, number, index, hashPrefix }: EntryId,
): string {
  if (hashPrefix.length !== HASH_PREFIX_BYTES) {
    throw new RangeError(`a hash prefix has ${HASH_PREFIX_BYTES} bytes, not ${hashPrefix.length}`);
  }
  const bytes = Buffer.allocUnsafe(BYTES);
  bytes[0] = OF.indexOf(of);
  bytes.writeUIntBE(startOf(generation), GENERATION_AT, ID_GENERATION_BYTES);
  bytes.writeUInt32BE(segment, SEGMENT_AT);
  bytes.writeUIntBE(number, NUMBER_AT, 6);
  bytes.writeUInt16BE(index, INDEX_AT);
  bytes.set(hashPrefix, HASH_AT);
  return bytes.toString('base64url');
}

/** The parts of an id. Undefined for a string that `encodeEntryId` cannot have made for this generation. */
export function decodeEntryId(generation: string, id: string): EntryId | undefined {
  if (!PATTERN.test(id)) return undefined;
  const bytes = Buffer.from(id, 'base64url');
  const of = OF[bytes[0] as number];
  if (of === undefined || bytes.readUIntBE(GENERATION_AT, ID_GENERATION_BYTES) !== startOf(generation))
    return undefined;
  return {
    of,
    segment: bytes.readUInt32BE(SEGMENT_AT),
    number: bytes.readUIntBE(NUMBER_AT, 6),
    index: bytes.readUInt16BE(INDEX_AT),
    hashPrefix: bytes.subarray(HASH_AT),
  };
}

/** The contents of a queue entry's id that also encodes where the entry is. */
export interface EntryName {
  /** Hash of the entry's item, HASH_BYTES long. */
  readonly hash: Uint8Array;
  /** The queue's clock when the entry was created. */
  readonly birth: number;
  /** In per-host queues, the second word of its host's hash. Otherwise 0. */
  readonly hostWord: number;
  /** Where the entry is, in its store's format. At most MAX_PLACE_BYTES. */
  readonly place: Uint8Array;
}

const HASH_BYTES = 16;
const GENERATION_BYTES = 4;
const BIRTH_AT = GENERATION_BYTES + HASH_BYTES;
const HOST_AT = BIRTH_AT + 6;
const PLACE_AT = HOST_AT + WORD_BYTES;
export const MAX_PLACE_BYTES = 24;
/** 30 to 54 bytes. */
const NAME_PATTERN = /^[A-Za-z0-9_-]{40,72}$/;

/**
 * Encodes as base64url: the first bytes of the generation (4), hash (16), birth (6) and host word (4), big-endian, and
 * the place. Sets with the same seed give an item the same hash, but have different generations. Throws RangeError if
 * the place is too long.
 */
export function encodeEntryName(generation: string, { hash, birth, hostWord, place }: EntryName): string {
  if (place.length > MAX_PLACE_BYTES)
    throw new RangeError(`a place has at most ${MAX_PLACE_BYTES} bytes, not ${place.length}`);
  const bytes = Buffer.allocUnsafe(PLACE_AT + place.length);
  bytes.write(generation, 0, GENERATION_BYTES, 'hex');
  bytes.set(hash, GENERATION_BYTES);
  bytes.writeUIntBE(birth, BIRTH_AT, 6);
  bytes.writeUInt32BE(hostWord, HOST_AT);
  bytes.set(place, PLACE_AT);
  return bytes.toString('base64url');
}

/** The parts of an id, or undefined for a string that `encodeEntryName` can't have made for this generation. */
export function decodeEntryName(generation: string, id: string): EntryName | undefined {
  if (!NAME_PATTERN.test(id)) return undefined;
  const bytes = Buffer.from(id, 'base64url');
  // Other spellings of the same bytes differ only in unused bits of the last character.
  if (bytes.toString('base64url') !== id) return undefined;
  if (!generation.startsWith(bytes.toString('hex', 0, GENERATION_BYTES))) return undefined;
  return {
    hash: bytes.subarray(GENERATION_BYTES, BIRTH_AT),
    birth: bytes.readUIntBE(BIRTH_AT, 6),
    hostWord: bytes.readUInt32BE(HOST_AT),
    place: bytes.subarray(PLACE_AT),
  };
}
