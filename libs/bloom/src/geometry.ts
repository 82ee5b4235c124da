/**
 * Everything except the seed that determines a key's positions.
 *
 * A filter has `segments` byte strings of equal length, a segment has `pagesPerSegment` pages, and a page has
 * `pageCells` adjacent cells. A cell is a 4-bit counter (counting filter), one bit (standard filter), or a 4-bit
 * counter with a 4-bit expiry (counting filter that ages). An item occupies `hashes` distinct cells in one page.
 */
export interface Geometry {
  /** The hash scheme's number (see `hash-scheme.ts`). Schemes are added, but never edited. */
  readonly hashScheme: number;
  readonly cellBits: CellBits;
  /** k: distinct cells per item. */
  readonly hashes: number;
  /** Number of cells per page, a power of two from 128 to 4,096. */
  readonly pageCells: number;
  readonly pagesPerSegment: number;
  readonly segments: number;
  /**
   * Number of runs of segments, with HOST_HASH_SCHEME. `segments` is a multiple of this number. An item's host chooses
   * a run, and the rest of the item's hash chooses a segment in that run.
   */
  readonly spread?: number;
}

/** 4: counting filter. 1: standard filter. 8: counting filter that ages. */
export type CellBits = 1 | 4 | 8;

/**
 * Length in bytes of the stamp that precedes the cells of each page in a filter that ages. See libs/store/src/age.ts.
 */
export const STAMP_BYTES = 4;

/** Number of runs of segments. Without a `spread`, each segment is a run. */
export function runsOf({ segments, spread = segments }: Pick<Geometry, 'segments' | 'spread'>): number {
  return spread;
}

/** Number of segments in each run. */
export function segmentsPerRun(geometry: Pick<Geometry, 'segments' | 'spread'>): number {
  return geometry.segments / runsOf(geometry);
}

/** m: cells in the whole filter. */
export function cellCount(geometry: Geometry): number {
  return geometry.segments * geometry.pagesPerSegment * geometry.pageCells;
}

export function pageBytes(geometry: Pick<Geometry, 'pageCells' | 'cellBits'>): number {
  const { pageCells, cellBits } = geometry;
  return (pageCells * cellBits) / 8 + (cellBits === 8 ? STAMP_BYTES : 0);
}

export function segmentBytes(geometry: Geometry): number {
  return geometry.pagesPerSegment * pageBytes(geometry);
}

/** Bytes of all segments, which is the memory that the cells take. */
export function filterBytes(geometry: Geometry): number {
  return geometry.segments * segmentBytes(geometry);
}
