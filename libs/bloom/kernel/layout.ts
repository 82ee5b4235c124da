/**
 * The kernel works on blocks of keys, in memory that is laid out like this; arrays are parallel. The bytes of the keys
 * come last, because they alone may need more room than there is.
 */
export const BLOCK_KEYS: i32 = 1024;
/** Cells that an item can have. */
export const MAX_HASHES: i32 = 32;
/** Bytes that must be there beyond the last key: words are read whole. */
export const SLACK: i32 = 8;

/** 16 bytes. */
export const SEED: usize = 64;
/** Where each key begins and where it ends, counted from BYTES: two u32 a key. */
export const SPAN: usize = SEED + 16;
/** Four u32 a key. */
export const HASH: usize = SPAN + 8 * BLOCK_KEYS;
/** u32 a key. */
export const SEGMENT: usize = HASH + 16 * BLOCK_KEYS;
/** u32 a key. */
export const PAGE: usize = SEGMENT + 4 * BLOCK_KEYS;
/** u16, `hashes` of them a key. */
export const CELL: usize = PAGE + 4 * BLOCK_KEYS;
/** The keys, as UTF-8. */
export const BYTES: usize = CELL + 2 * MAX_HASHES * BLOCK_KEYS;
