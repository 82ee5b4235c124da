/**
 * Everything that turns a key into positions, except the seed.
 *
 * A filter is `segments` equal byte strings; a segment is `pagesPerSegment` pages; a page is `pageCells` adjacent
 * cells. A cell is a 4-bit counter (counting filter), one bit (standard filter), or a counter and an expiry of 4 bits each
 * (a counting filter that ages). An item lives in one page of one segment, in `hashes` distinct cells of it.
 */
export interface Geometry {
  /** Number of the hash scheme (see `hash-scheme.ts`). A scheme is never edited, only added. */
  readonly hashScheme: number;
  readonly cellBits: CellBits;
  /** k: distinct cells per item. */
  readonly hashes: number;
  /** Cells per page, a power of two from 128 to 4,096. */
  readonly pageCells: number;
  readonly pagesPerSegment: number;
  readonly segments: number;
}

/** 4: counting filter. 1: standard filter. 8: counting filter that ages. */
export type CellBits = 1 | 4 | 8;

/** Each page of a filter that ages begins with so many bytes, in front of its cells: see libs/store/src/age.ts. */
export const STAMP_BYTES = 4;

/** m: cells of the whole filter. */
export function cellCount(geometry: Geometry): number {
  return geometry.segments * geometry.pagesPerSegment * geometry.pageCells;
}

/** Bytes of one page. */
export function pageBytes(geometry: Pick<Geometry, 'pageCells' | 'cellBits'>): number {
  const { pageCells, cellBits } = geometry;
  return (pageCells * cellBits) / 8 + (cellBits === 8 ? STAMP_BYTES : 0);
}

/** Bytes of one segment. */
export function segmentBytes(geometry: Geometry): number {
  return geometry.pagesPerSegment * pageBytes(geometry);
}

/** Bytes of all segments: the memory the cells take. */
export function filterBytes(geometry: Geometry): number {
  return geometry.segments * segmentBytes(geometry);
}
