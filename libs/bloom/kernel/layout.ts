/**
 * The layout of the kernel's memory. The kernel works on blocks of keys, in parallel arrays. The bytes of the keys come
 * last because only they may need more room than the initial memory has.
 */
export const BLOCK_KEYS: i32 = 1024;
/** Maximum number of cells per item. */
export const MAX_HASHES: i32 = 32;
/** Bytes that must exist after the last key, because the kernel reads whole words. */
export const SLACK: i32 = 8;

/** The seed, 16 bytes. */
export const SEED: usize = 64;
/** The hash of a key's host, 16 bytes. */
export const HOST_HASH: usize = SEED + 16;
/** Start and end of each key, as offsets from BYTES: two u32 per key. */
export const SPAN: usize = HOST_HASH + 16;
/** Four u32 per key. */
export const HASH: usize = SPAN + 8 * BLOCK_KEYS;
/** The first two words of the hash of each key's host, in hash scheme 3 only: two u32 per key. */
export const HOST: usize = HASH + 16 * BLOCK_KEYS;
/** One u32 per key. */
export const SEGMENT: usize = HOST + 8 * BLOCK_KEYS;
/** One u32 per key. */
export const PAGE: usize = SEGMENT + 4 * BLOCK_KEYS;
/** u16, `hashes` per key. */
export const CELL: usize = PAGE + 4 * BLOCK_KEYS;
/** The keys, in UTF-8. */
export const BYTES: usize = CELL + 2 * MAX_HASHES * BLOCK_KEYS;
