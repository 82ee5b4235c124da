/** Length of an item's hash, in bytes. */
export const HASH_BYTES = 16;
/** The same length in 32-bit words. */
export const HASH_WORDS = 4;
