/**
 * Limit on a segment: 16 MiB less one memory page. With the few bytes of a string's header in front, exactly 16 MiB
 * would take 20 MiB of Redis, whose allocator has no size in between (measured: 1.25 against 1.00 times the bytes asked
 * for).
 */
export const MAX_SEGMENT_BYTES = 16 * 2 ** 20 - 4096;

/**
 * Bytes that jemalloc, the allocator of Redis, reserves for a string of `bytes` bytes. It has four size classes for
 * every doubling.
 */
export function jemallocBytes(bytes: number): number {
  const asked = bytes + 10;
  const step = 2 ** Math.max(4, Math.ceil(Math.log2(asked)) - 3);
  return Math.ceil(asked / step) * step;
}
