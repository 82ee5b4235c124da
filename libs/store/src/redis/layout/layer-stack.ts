import { cellCount, filterBytes, type Layer } from '#bloom';
import { itemsFromCells } from '../../age.js';
import { plannedLayers } from '../../planned-layers.js';
import type { StoreError } from '../../errors.js';
import type { SyncPlan } from '../../port/index.js';
import { full, hostsFull, type Named } from '../../refusals.js';

/** How full a layer is when the next one is created ahead of need. */
const NEARLY_FULL = 0.9;

/** A filter's or sync's layer stack, as far as this process knows it. */
export class LayerStack {
  /** All planned layers, oldest first. */
  readonly plan: readonly [Layer, ...Layer[]];
  readonly grows: boolean;
  /**
   * The items of each segment, layer by layer, and its open layer, as this process last saw them. Used only to limit
   * items and to grow in time, never for answers.
   */
  private readonly itemsSeen: Float64Array;
  private readonly openSeen: Uint8Array;
  private countedAt = 0;

  constructor(
    plan: SyncPlan,
    /** Number of the first layer. */
    readonly base: number,
    private there: number,
    /** Number of segments of the filter. */
    private readonly segments: number,
  ) {
    this.plan = plannedLayers(plan);
    this.grows = plan.layers !== undefined;
    this.itemsSeen = new Float64Array(segments * this.plan.length);
    this.openSeen = new Uint8Array(segments);
  }

  /** How many layers exist, as far as this process knows. A script that needs more reports it. */
  get made(): number {
    return this.there;
  }

  /** Notes that at least `made` layers exist. */
  grewTo(made: number): void {
    this.there = Math.max(made, this.there);
  }

  /** Notes that a failover has lost all but the first `made` layers. */
  shrankTo(made: number): void {
    this.there = made;
  }

  /** The layers that this process knows to exist. */
  get layers(): readonly Layer[] {
    return this.plan.slice(0, this.made);
  }

  /** Bytes of the layers that this process knows to exist. */
  get bytes(): number {
    return this.layers.reduce((sum, { geometry }) => sum + filterBytes(geometry), 0);
  }

  /** Pieces of a layer in each segment of the filter. */
  piecesOf(layer: number): number {
    return (this.plan[layer] as Layer).geometry.segments / this.segments;
  }

  /** Notes a segment's state: its open layer, if there can be several, and the items of each layer. */
  saw(segment: number, open: number | undefined, items: readonly number[]): void {
    items.forEach((count, layer) => (this.itemsSeen[layer * this.segments + segment] = count));
    if (open !== undefined) this.openSeen[segment] = Math.max(open, this.openSeen[segment] as number);
  }

  /** True if the items of all segments were counted at `time` (ms since the epoch) or later. */
  isCountedSince(time: number): boolean {
    return this.countedAt >= time;
  }

  /** Notes when the items of all segments were counted, in ms since the epoch. */
  counted(time: number): void {
    this.countedAt = time;
  }

  /** Number of items in all segments and layers, as last seen. */
  get items(): number {
    return this.itemsSeen.reduce((sum, items) => sum + items, 0);
  }

  /**
   * Whether there is room for this many new items in each segment. If hosts choose the segments, each segment has its
   * own limit. Otherwise the limit is on the sum.
   */
  takes(fresh: Uint32Array): boolean {
    if (!this.isByHost) return fresh.reduce((sum, items) => sum + items, 0) <= this.room;
    return fresh.every((items, segment) => items <= this.roomIn(segment));
  }

  /** The error for new items that do not fit: FILTER_FULL. */
  fullFor({ name, kind }: Named, fresh: Uint32Array): StoreError {
    const { capacity } = this.plan[0];
    const filter = { name, kind, capacity, ...(this.grows && { layers: this.plan }) };
    const short = this.isByHost ? fresh.findIndex((items, segment) => items > this.roomIn(segment)) : -1;
    if (short >= 0) return hostsFull(filter, this.roomIn(short), fresh[short] as number);
    return full(
      filter,
      this.items,
      fresh.reduce((sum, items) => sum + items, 0),
    );
  }

  /** Whether all URLs of a host lie in one segment. */
  get isByHost(): boolean {
    return this.plan[0].geometry.spread !== undefined;
  }

  /** A segment's room in its open and later layers, each up to the segment's share of the capacity. */
  roomIn(segment: number): number {
    let room = 0;
    for (let layer = this.openSeen[segment] as number; layer < this.plan.length; layer++) {
      room += Math.max(0, this.shareOf(layer) - this.itemsIn(segment, layer));
    }
    return room;
  }

  /**
   * Number of items that can still be added. If the filter grows, that is the room in its open and later layers. All
   * segments share the last layer's capacity. The last layer may exceed its capacity: several instances add in
   * parallel, and the items of a filter that ages are estimates.
   */
  get room(): number {
    if (!this.grows) return Math.max(0, 2 * this.plan[0].capacity - this.items);
    const last = this.plan.length - 1;
    let room = this.plan[last]?.capacity ?? 0;
    for (let segment = 0; segment < this.segments; segment++) {
      for (let layer = this.openSeen[segment] as number; layer < last; layer++) {
        room += Math.max(0, this.shareOf(layer) - this.itemsIn(segment, layer));
      }
      room -= this.itemsIn(segment, last);
    }
    return Math.max(0, room);
  }

  /** Cells of a layer in each segment of the filter. */
  cellsOf(layer: number): number {
    return cellCount((this.plan[layer] as Layer).geometry) / this.segments;
  }

  /** Estimates a layer's items in all segments from their live cells. */
  itemsFromCells(layer: number, live: readonly number[]): number {
    const { geometry } = this.plan[layer] as Layer;
    const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
    // Hosts fill segments unevenly. Without hosts, one estimate for all segments keeps their rounding errors from
    // adding up.
    if (!this.isByHost) return itemsFromCells(sumOf(live), cellCount(geometry), geometry);
    return sumOf(live.map((cells) => itemsFromCells(cells, this.cellsOf(layer), geometry)));
  }

  /** Number of items at which a layer is closed in a segment. */
  shareOf(layer: number): number {
    return Math.ceil((this.plan[layer] as Layer).capacity / this.segments);
  }

  /** True if a segment will soon need a layer that does not exist yet, as far as this process knows. */
  nearlyFull(segment: number): boolean {
    const open = this.openSeen[segment] as number;
    if (open !== this.made - 1 || this.made >= this.plan.length) return false;
    return this.itemsIn(segment, open) >= NEARLY_FULL * this.shareOf(open);
  }

  private itemsIn(segment: number, layer: number): number {
    return this.itemsSeen[layer * this.segments + segment] as number;
  }
}
