/**
 * The layout of the kernel's memory. The kernel works on blocks of keys; the arrays are parallel. The bytes of the keys
 * come last, because they alone may need more room than there is.
 */
export const BLOCK_KEYS: i32 = 1024;
/** The most cells that an item can have. */
export const MAX_HASHES: i32 = 32;
/** Bytes that must exist beyond the last key, because words are read whole. */
export const SLACK: i32 = 8;

/** The seed, 16 bytes. */
export const SEED: usize = 64;
/** Where each key begins and ends, counted from BYTES: two u32 per key. */
export const SPAN: usize = SEED + 16;
/** Four u32 per key. */
export const HASH: usize = SPAN + 8 * BLOCK_KEYS;
/** One u32 per key. */
export const SEGMENT: usize = HASH + 16 * BLOCK_KEYS;
/** One u32 per key. */
export const PAGE: usize = SEGMENT + 4 * BLOCK_KEYS;
/** u16, `hashes` of them per key. */
export const CELL: usize = PAGE + 4 * BLOCK_KEYS;
/** The keys, as UTF-8. */
export const BYTES: usize = CELL + 2 * MAX_HASHES * BLOCK_KEYS;
