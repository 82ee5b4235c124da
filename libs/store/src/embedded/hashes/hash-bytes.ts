/** Length of an item's hash, in bytes. */
export const HASH_BYTES = 16;
/** The same in words of 32 bits. */
export const HASH_WORDS = 4;
