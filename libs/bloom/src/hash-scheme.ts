import { murmur3x86_128 } from './murmur3.js';
import { sipHash128 } from './siphash.js';

/**
 * A 128-bit hash of a key's UTF-8 bytes under a filter's seed. A scheme has a number that is stored with the
 * filter; it is never edited, only added, because stored counters cannot be re-keyed.
 */
export interface HashScheme {
  readonly number: number;
  readonly name: string;
  /**
   * Hashes the first `length` bytes of `key` (32-bit words, first byte lowest) under `seed` (SEED_BYTES bytes, as
   * such words, too) into the four words `out[at .. at + 3]`.
   */
  hash(key: Uint32Array, length: number, seed: Uint32Array, out: Uint32Array, at: number): void;
}

/** Length of every filter's seed. Scheme 1 uses its first four bytes, scheme 2 all of them, as its key. */
export const SEED_BYTES = 16;

/**
 * The scheme of newly made filters, of either kind: items come from pages that anyone can write. Under scheme 1 such a
 * page can hold any number of different URLs that collide in every filter, whatever its seed.
 */
export const DEFAULT_HASH_SCHEME = 2;

const SCHEMES: readonly HashScheme[] = [
  {
    number: 1,
    name: 'murmur3-x86-128',
    hash: (key, length, seed, out, at) => murmur3x86_128(key, length, seed[0] as number, out, at),
  },
  { number: 2, name: 'siphash-2-4-128', hash: sipHash128 },
];

/** The numbers of all schemes that this version knows. */
export const HASH_SCHEMES: readonly number[] = SCHEMES.map(({ number }) => number);

/** The scheme with this number; throws RangeError for a number this version does not know. */
export function hashScheme(number: number): HashScheme {
  const scheme = SCHEMES.find((one) => one.number === number);
  if (scheme) return scheme;
  throw new RangeError(`hash scheme ${number} is unknown to this version; known: ${HASH_SCHEMES.join(', ')}`);
}
