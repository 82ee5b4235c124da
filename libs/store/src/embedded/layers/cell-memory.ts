import { setImmediate } from 'node:timers/promises';
import { filterBytes, segmentBytes, type Geometry } from '#bloom';
import { StoreError } from '../../errors.js';

/** The journal stores a segment's number in two bytes. */
const MAX_SEGMENTS = 2 ** 16;
const MEMORY_PAGE = 4096;

/**
 * Zeroed cells, one array per segment. This reserves the memory, and the kernel allocates it page by page as cells are
 * written. Throws STORE_FULL.
 */
export function allocateCells(geometry: Geometry): Uint8Array[] {
  if (geometry.segments > MAX_SEGMENTS) throw noMemory(geometry, `more than ${MAX_SEGMENTS} segments`);
  return Array.from({ length: geometry.segments }, () => allocateSegment(geometry));
}

/** The zeroed cells of one segment. Throws STORE_FULL. */
export function allocateSegment(geometry: Geometry): Uint8Array {
  try {
    return new Uint8Array(segmentBytes(geometry));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw noMemory(geometry, error);
  }
}

function noMemory(geometry: Geometry, cause: unknown): StoreError {
  const bytes = filterBytes(geometry);
  return new StoreError(
    'STORE_FULL',
    `the machine does not have enough memory for ${bytes} bytes of counters`,
    { cause },
  );
}

/** Throws STORE_FULL if the machine has less than `bytes` of free memory. */
export function assertAvailable(bytes: number): void {
  const available = process.availableMemory();
  if (bytes <= available) return;
  throw new StoreError(
    'STORE_FULL',
    `the counters need ${bytes} bytes of memory, but only ${available} are free`,
  );
}

/**
 * Zeroed cells with memory already allocated, so that a shortage shows now and not in the middle of a crawl. (The
 * kernel allocates a memory page only when it is first written.) Throws STORE_FULL if there isn't enough.
 */
export async function reserveCells(geometry: Geometry): Promise<Uint8Array[]> {
  assertAvailable(filterBytes(geometry));
  const segments = allocateCells(geometry);
  for (const segment of segments) {
    for (let at = 0; at < segment.length; at += MEMORY_PAGE) segment[at] = 0;
    await setImmediate();
  }
  return segments;
}
