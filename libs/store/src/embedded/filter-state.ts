import { pageBytes, segmentBytes } from '#bloom';
import type { Filter } from '../store.js';
import { generationKey } from './keys.js';
import { QueueState } from './queue/queue-state.js';
import { freshWindows, type RecordScope, type RecordWindow } from './record-window.js';

/**
 * Cells are checkpointed in blocks of this size. The last block of a segment may be shorter. No page straddles two
 * blocks.
 */
export const BLOCK_BYTES = 65_536;

/** Counts of a filter; see FilterStats. */
export interface Tally {
  items: number;
  nonZeroCells: number;
  saturatedCells: number;
  added: number;
  duplicate: number;
  removed: number;
  refused: number;
}

/** One generation of a filter in memory. */
export class FilterState implements RecordScope {
  readonly key: Buffer;
  readonly since: number;
  readonly segmentBytes: number;
  readonly blocksPerSegment: number;
  readonly pageBytes: number;
  /** Per block: 1 if its cells differ from the checkpointed ones. */
  readonly dirty: Uint8Array;
  /** Per block: 1 if it has ever been checkpointed. The others are zero on load. */
  readonly written: Uint8Array;
  readonly tally: Tally = {
    items: 0,
    nonZeroCells: 0,
    saturatedCells: 0,
    added: 0,
    duplicate: 0,
    removed: 0,
    refused: 0,
  };
  /** Of a visited set. */
  readonly queue = new QueueState();
  windows: { caller: RecordWindow; made: RecordWindow };
  lastChange = 0;
  /** See fetchPages in fetch-pages.ts. */
  fetched = 0;
  /** Part of its data is missing, so every call is refused. */
  lost = false;

  constructor(
    readonly filter: Filter,
    readonly segments: readonly Uint8Array[],
    now: number,
  ) {
    const { geometry } = filter;
    this.key = generationKey(filter.generation);
    this.since = filter.createdAt;
    this.segmentBytes = segmentBytes(geometry);
    this.pageBytes = pageBytes(geometry);
    this.blocksPerSegment = Math.ceil(this.segmentBytes / BLOCK_BYTES);
    this.dirty = new Uint8Array(this.blocksPerSegment * geometry.segments);
    this.written = new Uint8Array(this.dirty.length);
    this.windows = freshWindows(now);
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
