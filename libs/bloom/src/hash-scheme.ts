/**
 * A hash scheme says how the 128-bit hash of a key's UTF-8 bytes is computed under a filter's seed. The number of its
 * scheme is stored with a filter. A scheme is never edited, only added, because stored counters cannot be re-keyed.
 *
 *   1  murmur3 x86_128, which uses the first four bytes of the seed, little-endian
 *   2  SipHash-2-4-128, with the whole seed as its key
 */
export const HASH_SCHEMES: readonly number[] = [1, 2];

/** Length of every filter's seed. */
export const SEED_BYTES = 16;

/**
 * The scheme of new filters, of either kind. Items come from pages that anyone can write. Under scheme 1 such a page
 * can contain any number of different URLs that collide in every filter, whatever its seed.
 */
export const DEFAULT_HASH_SCHEME = 2;

/** Throws RangeError for a scheme number that this version does not know. */
export function assertKnown(scheme: number): void {
  if (HASH_SCHEMES.includes(scheme)) return;
  throw new RangeError(`hash scheme ${scheme} is unknown to this version; known: ${HASH_SCHEMES.join(', ')}`);
}
