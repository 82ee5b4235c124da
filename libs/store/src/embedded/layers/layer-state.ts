import { cellCount, pageBytes, segmentBytes, type Layer } from '#bloom';
import { Expiring, itemsFromCells } from '../../age.js';
import type { LayerStats } from '../../port/index.js';
import { DEFAULT_SIZES } from '../database/sizes.js';

/** A layer's counts, mutable. */
export type LayerTally = { -readonly [K in keyof LayerStats]: LayerStats[K] };

/** The cells of one of a filter's layers, in memory. A filter that doesn't grow has one layer. */
export class LayerState {
  readonly segmentBytes: number;
  readonly blocksPerSegment: number;
  readonly pageBytes: number;
  /** A segment's last block may be shorter. No page straddles two blocks. */
  readonly blockBytes: number;
  /** For each block: 1 if its cells differ from the checkpointed ones. */
  readonly dirty: Uint8Array;
  /** For each block: 1 if it was ever checkpointed. Loading leaves the others at zero. */
  readonly written: Uint8Array;
  readonly tally: LayerTally = { items: 0, nonZeroCells: 0, saturatedCells: 0 };
  /** The items of each run of segments, if there are several (Geometry.spread). Their sum is at least `tally.items`. */
  readonly runs: Float64Array | undefined;
  /** The live cells of each of these runs, if the layer ages. Their sums equal the counts in `expiring`. */
  readonly expiringIn: readonly Expiring[] | undefined;
  /** See items/fetch-pages.ts. */
  fetched = 0;
  /** Present if the layer ages. The counts of the tally then follow from it. */
  readonly expiring: Expiring | undefined;

  constructor(
    /** The layer's number. 0 is the generation's first layer. */
    readonly number: number,
    readonly plan: Layer,
    /** The cells, one array per segment of the layer. */
    readonly segments: readonly Uint8Array[],
    { blockBytes } = DEFAULT_SIZES,
  ) {
    const { geometry } = plan;
    this.segmentBytes = segmentBytes(geometry);
    this.pageBytes = pageBytes(geometry);
    this.blockBytes = Math.max(1, Math.floor(blockBytes / this.pageBytes)) * this.pageBytes;
    this.blocksPerSegment = Math.ceil(this.segmentBytes / this.blockBytes);
    this.expiring = geometry.cellBits === 8 ? new Expiring() : undefined;
    const { spread = 1 } = geometry;
    this.runs = spread > 1 ? new Float64Array(spread) : undefined;
    this.expiringIn = this.expiring && this.runs && Array.from(this.runs, () => new Expiring());
    this.dirty = new Uint8Array(this.blocksPerSegment * geometry.segments);
    this.written = new Uint8Array(this.dirty.length);
  }

  /** Bytes of the cells. */
  get bytes(): number {
    return this.segmentBytes * this.plan.geometry.segments;
  }

  /** How many new items the layer takes before it reaches its capacity. */
  get room(): number {
    return Math.max(0, this.plan.capacity - this.tally.items);
  }

  /** How many new items a run takes before it reaches its share of the capacity. */
  roomIn(run: number): number {
    const { runs, plan } = this;
    if (!runs) return this.room;
    return Math.max(0, Math.ceil(plan.capacity / runs.length) - Math.round(runs[run] as number));
  }

  /** The fullest run's items, divided by its share of the capacity. */
  get fill(): number {
    const { runs, plan, tally } = this;
    return (runs ? Math.max(...runs) * runs.length : tally.items) / plan.capacity;
  }

  /** Changes cells that all lie in this run, and counts the change there. */
  inRun<T>(run: number, change: () => T): T {
    const { runs, tally, expiring } = this;
    if (!runs) return change();
    const items = tally.items;
    const live = expiring?.toArray();
    const result = change();
    if (live) {
      for (const [epochs, cells] of live.entries())
        this.expiringIn?.[run]?.count(epochs, (expiring?.in(epochs) ?? 0) - cells);
      this.recountRun(run);
      this.recount();
      // Never below zero, because an import only estimates the items of the runs.
    } else runs[run] = Math.max(0, (runs[run] as number) + tally.items - items);
    return result;
  }

  /** In a layer that doesn't age, sets the runs' items, from their non-zero cells and `tally.items`. */
  splitItems(nonZeroCells: ArrayLike<number>): void {
    const { runs, tally } = this;
    if (!runs) return;
    for (const run of runs.keys()) runs[run] = this.itemsFrom(nonZeroCells[run] ?? 0, runs.length);
    const sum = sumOf(runs);
    if (sum > 0) for (const [run, items] of runs.entries()) runs[run] = (items * tally.items) / sum;
  }

  /** The block that contains a page. */
  blockOf(segment: number, page: number): number {
    return segment * this.blocksPerSegment + Math.floor((page * this.pageBytes) / this.blockBytes);
  }

  /** A block's cells: a view, not a copy. */
  block(index: number): Uint8Array {
    const segment = this.segments[Math.floor(index / this.blocksPerSegment)] as Uint8Array;
    const from = (index % this.blocksPerSegment) * this.blockBytes;
    return segment.subarray(from, Math.min(from + this.blockBytes, this.segmentBytes));
  }

  /** Advances to an epoch, if the layer ages. */
  advance(epoch: number): void {
    this.expiring?.advance(epoch);
    for (const [run, expiring] of this.expiringIn?.entries() ?? []) {
      expiring.advance(epoch);
      this.recountRun(run);
    }
    this.recount();
  }

  /** Recomputes the tally from the live cells, if the layer ages. */
  recount(): void {
    const { expiring, runs, tally } = this;
    if (!expiring) return;
    tally.nonZeroCells = expiring.live;
    tally.items = runs ? sumOf(runs) : this.itemsFrom(expiring.live);
  }

  private recountRun(run: number): void {
    const { runs, expiringIn } = this;
    if (runs && expiringIn) runs[run] = this.itemsFrom(expiringIn[run]?.live ?? 0, runs.length);
  }

  /** Estimates items from the non-zero cells in one of this many equal parts of the layer. */
  private itemsFrom(nonZeroCells: number, parts = 1): number {
    const { geometry } = this.plan;
    return itemsFromCells(nonZeroCells, cellCount(geometry) / parts, geometry);
  }
}

function sumOf(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0);
}
