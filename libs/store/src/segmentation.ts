import type { Segmentation } from '#bloom';

/**
 * Maximum size of a segment in bytes: 16 MiB minus one memory page. With a string's header, exactly 16 MiB would take
 * 20 MiB in Redis: its allocator has no size class in between (measured: 1.25 instead of 1.00 times the requested
 * bytes).
 */
export const MAX_SEGMENT_BYTES = 16 * 2 ** 20 - 4096;

/**
 * How many bytes jemalloc, Redis' allocator, reserves for a string of `bytes` bytes. It has four size classes for each
 * doubling.
 */
export function jemallocBytes(bytes: number): number {
  const asked = bytes + 10;
  const step = 2 ** Math.max(4, Math.ceil(Math.log2(asked)) - 3);
  return Math.ceil(asked / step) * step;
}

const SEGMENTS_PER_MASTER = 4;

/** How Redis stores split filters: on a single server, into one segment if it fits; on a cluster, a few per master. */
export function redisSegmentation(masters: number): Segmentation {
  return {
    maxSegmentBytes: MAX_SEGMENT_BYTES,
    minSegments: masters > 1 ? masters * SEGMENTS_PER_MASTER : 1,
    minSegmentBytes: 64 * 1024,
    allocatedBytes: jemallocBytes,
  };
}
