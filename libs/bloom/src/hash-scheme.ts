import { murmur3x86_128 } from './murmur3.js';

/**
 * A 128-bit hash of a key's UTF-8 bytes under a filter's seed. A scheme has a number that is stored with the
 * filter; it is never edited, only added, because stored counters cannot be re-keyed.
 */
export interface HashScheme {
  readonly number: number;
  readonly name: string;
  /**
   * Hashes the first `length` bytes of `key` (32-bit words, first byte lowest) under `seed` (SEED_BYTES bytes) into
   * the four words `out[at .. at + 3]`.
   */
  hash(key: Uint32Array, length: number, seed: Uint8Array, out: Uint32Array, at: number): void;
}

/** Length of every filter's seed. Scheme 1 uses its first four bytes; a keyed scheme may use them all. */
export const SEED_BYTES = 16;

/** The scheme of newly made filters. */
export const DEFAULT_HASH_SCHEME = 1;

const murmur3: HashScheme = {
  number: 1,
  name: 'murmur3-x86-128',
  hash(key, length, seed, out, at) {
    const word =
      (seed[0] as number) |
      ((seed[1] as number) << 8) |
      ((seed[2] as number) << 16) |
      ((seed[3] as number) << 24);
    murmur3x86_128(key, length, word, out, at);
  },
};

const SCHEMES: ReadonlyMap<number, HashScheme> = new Map([[murmur3.number, murmur3]]);

/** The scheme with this number; throws RangeError for a number this version does not know. */
export function hashScheme(number: number): HashScheme {
  const scheme = SCHEMES.get(number);
  if (!scheme) throw new RangeError(`hash scheme ${number} is unknown to this version; known: 1`);
  return scheme;
}
