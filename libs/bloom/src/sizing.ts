import { classicCellsPerItem, PagedErrorRate } from './error-rate.js';
import { type CellBits, type Geometry, pageBytes } from './geometry.js';
import { DEFAULT_HASH_SCHEME, HOST_HASH_SCHEME } from './hash-scheme.js';

/** The filter size that a caller requests. */
export interface Sizing {
  /** n: the number of items to hold, an integer from 1 to MAX_CAPACITY. */
  readonly capacity: number;
  /** p: the share of absent items that may test positive at capacity, from MIN_ERROR_RATE to MAX_ERROR_RATE. */
  readonly errorRate: number;
  readonly cellBits: CellBits;
}

/** How a store splits filters into segments. */
export interface Segmentation {
  /** The largest size of a segment. */
  readonly maxSegmentBytes: number;
  /** The smallest number of segments in a filter that is large enough for it (1 on a single server). */
  readonly minSegments: number;
  /** Segments are never made smaller than this to reach `minSegments`. */
  readonly minSegmentBytes: number;
  /**
   * How many bytes the store's allocator reserves for a segment of `bytes` bytes. Large filters are split so that the
   * allocator wastes little.
   */
  readonly allocatedBytes?: (bytes: number) => number;
  /**
   * Number of runs of segments, if URLs' hosts choose the run (HOST_HASH_SCHEME). The number of segments is a multiple
   * of this number.
   */
  readonly spread?: number | undefined;
}

/** The smallest supported rate: 26 hashes in pages of 2,048 cells. */
export const MIN_ERROR_RATE = 1e-9;
/** The largest supported rate: one hash. */
export const MAX_ERROR_RATE = 0.5;
/** The largest capacity. Item counts, which are at most twice the capacity, stay exact in a double. */
export const MAX_CAPACITY = 2 ** 50;

const PAGE_SIZES = [128, 256, 512, 1024, 2048, 4096];

/** The page shape for an error rate. */
export interface PageShape {
  readonly pageCells: number;
  readonly hashes: number;
  /** λ: the mean number of items per page at which the error rate is reached exactly. */
  readonly itemsPerPage: number;
}

const shapes = new Map<number, PageShape>();

/**
 * The smallest page whose memory stays within 10 % of the classic optimum, or 20 % for rates below 4e-4. Its number of
 * hashes is the one that needs the fewest cells. Small pages are cheap to read, and large pages save memory.
 */
export function pageShapeFor(errorRate: number): PageShape {
  const known = shapes.get(errorRate);
  if (known) return known;
  const allowance = errorRate >= 4e-4 ? 1.1 : 1.2;
  const target = classicCellsPerItem(errorRate) * allowance;
  let best: PageShape | undefined;
  for (const pageCells of PAGE_SIZES) {
    best = bestHashes(pageCells, errorRate, best?.hashes ?? 1);
    if (pageCells / best.itemsPerPage <= target) break;
  }
  if (shapes.size >= 1000) shapes.clear();
  shapes.set(errorRate, best as PageShape);
  return best as PageShape;
}

/**
 * The best number of hashes, searched from `least` upwards. It grows with the page size, towards the classic optimum.
 */
function bestHashes(pageCells: number, errorRate: number, least: number): PageShape {
  const shapeWith = (hashes: number): PageShape => {
    return { pageCells, hashes, itemsPerPage: PagedErrorRate.of(pageCells, hashes).loadFor(errorRate) };
  };
  let best = shapeWith(least);
  for (;;) {
    const next = shapeWith(best.hashes + 1);
    if (next.itemsPerPage <= best.itemsPerPage) return best;
    best = next;
  }
}

/**
 * The geometry for `capacity` items at `errorRate`: as many pages as the paged error rate needs, spread evenly over
 * segments. Throws RangeError like assertSizing.
 */
export function planGeometry(sizing: Sizing, segmentation: Segmentation): Geometry {
  assertSizing(sizing);
  return geometryOf(sizing, inRuns(segmentation), pageShapeFor(sizing.errorRate));
}

/** The segmentation for a filter with runs. Their number replaces the smallest number of segments. */
export function inRuns(segmentation: Segmentation): Segmentation {
  const { spread } = segmentation;
  return spread === undefined ? segmentation : { ...segmentation, minSegments: spread, minSegmentBytes: 0 };
}

/** Throws RangeError if a value is outside the limits above. */
export function assertSizing({ capacity, errorRate }: Sizing): void {
  if (!Number.isInteger(capacity) || capacity < 1 || capacity > MAX_CAPACITY) {
    throw new RangeError(`capacity must be a whole number from 1 to ${MAX_CAPACITY}, not ${capacity}`);
  }
  if (!(errorRate >= MIN_ERROR_RATE && errorRate <= MAX_ERROR_RATE)) {
    throw new RangeError(`errorRate must be from ${MIN_ERROR_RATE} to ${MAX_ERROR_RATE}, not ${errorRate}`);
  }
}

/**
 * Filters that age get this many times as many cells. A forgotten item can leave counts in cells that other items keep
 * alive, until those cells expire.
 */
const AGED_ALLOWANCE = 1.02;

/** Like planGeometry, for a given page shape. Also accepts error rates below MIN_ERROR_RATE. */
export function geometryOf(
  sizing: Sizing,
  segmentation: Segmentation,
  { pageCells, hashes }: Pick<PageShape, 'pageCells' | 'hashes'>,
): Geometry {
  const { capacity, errorRate, cellBits } = sizing;
  const itemsPerPage = PagedErrorRate.of(pageCells, hashes).loadFor(errorRate);
  const held = cellBits === 8 ? capacity * AGED_ALLOWANCE : capacity;
  const pages = Math.ceil(held / itemsPerPage);
  const segments = segmentsFor(pages, pageBytes({ pageCells, cellBits }), segmentation);
  const { spread } = segmentation;
  return {
    hashScheme: spread === undefined ? DEFAULT_HASH_SCHEME : HOST_HASH_SCHEME,
    cellBits,
    hashes,
    pageCells,
    pagesPerSegment: Math.ceil(pages / segments),
    segments,
    ...(spread === undefined ? {} : { spread }),
  };
}

/** How many items a geometry holds at an error rate. At the planned rate, this is at least the planned capacity. */
export function capacityAt(geometry: Geometry, errorRate: number): number {
  const { pageCells, hashes, pagesPerSegment, segments } = geometry;
  const itemsPerPage = PagedErrorRate.of(pageCells, hashes).loadFor(errorRate);
  return Math.floor(itemsPerPage * pagesPerSegment * segments * (1 + ROUNDING));
}

/** Allowance for rounding errors: planning divided by loadFor's result, and this multiplies by it again. */
const ROUNDING = 1e-12;

/** Segments are never cut below this size to suit the allocator, because each batch would then run more scripts. */
const CUT_TO_BYTES = 2 ** 21;
const MAX_CUTS = 4;
const ALLOCATION_WASTE = 1.03;

function segmentsFor(pages: number, bytesPerPage: number, segmentation: Segmentation): number {
  const { maxSegmentBytes, minSegments, minSegmentBytes, allocatedBytes } = segmentation;
  const needed = Math.ceil(pages / Math.floor(maxSegmentBytes / bytesPerPage));
  const affordable =
    minSegmentBytes === 0 ? minSegments : Math.floor((pages * bytesPerPage) / minSegmentBytes);
  const wanted = Math.max(1, Math.min(minSegments, affordable));
  // A multiple of the wanted number, so that the segments are evenly spread.
  const least = Math.ceil(needed / wanted) * wanted;
  const bytesAt = (segments: number) => Math.ceil(pages / segments) * bytesPerPage;
  if (!allocatedBytes) return least;
  const waste = (segments: number) => allocatedBytes(bytesAt(segments)) / bytesAt(segments);
  let best = least;
  for (let segments = least; segments <= MAX_CUTS * least; segments += wanted) {
    if (waste(best) <= ALLOCATION_WASTE || bytesAt(segments) < CUT_TO_BYTES) break;
    if (waste(segments) < waste(best)) best = segments;
  }
  return best;
}
