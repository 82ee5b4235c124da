import type { Geometry } from './geometry.js';
import { hashBytes } from './kernel.js';

/** The scheme that keeps all of a host's URLs in one run of segments. */
export const HOST_HASH_SCHEME = 3;

/**
 * The known hash schemes. A hash scheme computes the 128-bit hash of a key's UTF-8 bytes from a filter's seed. Each
 * filter stores its scheme's number. Schemes are added, but never edited, because stored counters can't be re-keyed.
 *
 *   1  murmur3 x86_128, seeded with the first four bytes of the seed, little-endian
 *   2  SipHash-2-4-128, with the whole seed as its key
 *   3  as 2, but the first word comes from the hash of the URL's host: see findHost in the kernel
 */
export const HASH_SCHEMES: readonly number[] = [1, 2, HOST_HASH_SCHEME];

/** Length of a filter's seed, in bytes. */
export const SEED_BYTES = 16;

/**
 * The scheme for all new filters. Not scheme 1: items come from pages that anyone can write. Such a page can contain
 * any number of different URLs whose murmur3 hashes collide in every filter, whatever its seed.
 */
export const DEFAULT_HASH_SCHEME = 2;

/** Throws RangeError if this version doesn't know the scheme. */
export function assertKnown(scheme: number): void {
  if (HASH_SCHEMES.includes(scheme)) return;
  throw new RangeError(`hash scheme ${scheme} is unknown to this version; known: ${HASH_SCHEMES.join(', ')}`);
}

/** Throws RangeError for a `spread` that doesn't fit the hash scheme or the number of segments. */
export function assertSpread({
  hashScheme,
  segments,
  spread,
}: Pick<Geometry, 'hashScheme' | 'segments' | 'spread'>): void {
  if (hashScheme !== HOST_HASH_SCHEME) {
    if (spread === undefined) return;
    throw new RangeError(`hash scheme ${hashScheme} must have no spread, not ${spread}`);
  }
  if (spread !== undefined && Number.isInteger(spread) && spread >= 1 && segments % spread === 0) return;
  throw new RangeError(`spread must divide the number of segments (${segments}), but is ${spread}`);
}

/** Two words of a host's hash, from its name, with HOST_HASH_SCHEME. See Positions.host. */
export function hostWords(name: string, seed: Uint8Array): Uint32Array {
  return hashBytes(2, seed, Buffer.from(name)).subarray(0, 2);
}
