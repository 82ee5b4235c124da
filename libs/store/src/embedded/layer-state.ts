import { pageBytes, segmentBytes, type Layer } from '#bloom';
import type { LayerStats } from '../store.js';

/**
 * Cells are checkpointed in blocks of this size. The last block of a segment may be shorter. No page straddles two
 * blocks.
 */
export const BLOCK_BYTES = 65_536;

/** The counts of a layer, while they change. */
export type LayerTally = { -readonly [K in keyof LayerStats]: LayerStats[K] };

/** The cells of one layer of a filter, in memory. A filter that does not grow has one. */
export class LayerState {
  readonly segmentBytes: number;
  readonly blocksPerSegment: number;
  readonly pageBytes: number;
  /** Per block: 1 if its cells differ from the checkpointed ones. */
  readonly dirty: Uint8Array;
  /** Per block: 1 if it has ever been checkpointed. The others are zero on load. */
  readonly written: Uint8Array;
  readonly tally: LayerTally = { items: 0, nonZeroCells: 0, saturatedCells: 0 };
  /** See fetchPages in fetch-pages.ts. */
  fetched = 0;

  constructor(
    /** From 0, the oldest, on. */
    readonly number: number,
    readonly plan: Layer,
    /** The cells, an array per segment of the layer. */
    readonly segments: readonly Uint8Array[],
  ) {
    const { geometry } = plan;
    this.segmentBytes = segmentBytes(geometry);
    this.pageBytes = pageBytes(geometry);
    this.blocksPerSegment = Math.ceil(this.segmentBytes / BLOCK_BYTES);
    this.dirty = new Uint8Array(this.blocksPerSegment * geometry.segments);
    this.written = new Uint8Array(this.dirty.length);
  }

  /** Bytes of the cells. */
  get bytes(): number {
    return this.segmentBytes * this.plan.geometry.segments;
  }

  /** New items that it takes before it is at its capacity. */
  get room(): number {
    return Math.max(0, this.plan.capacity - this.tally.items);
  }

  /** The block that a page lies in. */
  blockOf(segment: number, page: number): number {
    return segment * this.blocksPerSegment + Math.floor((page * this.pageBytes) / BLOCK_BYTES);
  }

  /** The cells of a block: a view, not a copy. */
  block(index: number): Uint8Array {
    const segment = this.segments[Math.floor(index / this.blocksPerSegment)] as Uint8Array;
    const from = (index % this.blocksPerSegment) * BLOCK_BYTES;
    return segment.subarray(from, Math.min(from + BLOCK_BYTES, this.segmentBytes));
  }
}
