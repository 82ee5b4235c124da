import { filterBytes, type Layer } from '#bloom';
import type { StoreErrorCode } from '../../errors.js';
import type { LayerStats } from '../../port/index.js';
import { Ageing } from './ageing.js';
import { LayerState } from './layer-state.js';
import type { Sizes } from '../database/sizes.js';

/** The layers of a filter, or those that a sync of it fills. */
export class LayerList {
  /** Those there are, oldest first. */
  readonly layers: [LayerState, ...LayerState[]];
  /** Memory is being reserved for the next layer. */
  reserving = false;
  /** Memory that is reserved for the next layer. */
  reserved: readonly Uint8Array[] | undefined;
  /** If it ages. */
  readonly age: Ageing | undefined;
  /** There was none for it: when, by the monotonic clock, and why. */
  unreserved: { readonly at: number; readonly code: StoreErrorCode } | undefined;

  /** `cells` are those of the first layer. */
  constructor(
    /** Number of its first layer. */
    readonly base: number,
    /** All that there may be. */
    readonly plan: readonly [Layer, ...Layer[]],
    cells: readonly Uint8Array[],
    maxAgeSeconds: number | undefined,
    private readonly sizes: Sizes,
  ) {
    if (maxAgeSeconds !== undefined) this.age = new Ageing(maxAgeSeconds * 1_000, sizes.shownPerTable);
    this.layers = [new LayerState(base, plan[0], cells, sizes)];
  }

  /** Number of the first layer that is not of this list. */
  get end(): number {
    return this.base + this.plan.length;
  }

  get first(): LayerState {
    return this.layers[0];
  }

  /** The layer that takes what is new. */
  get open(): LayerState {
    return this.layers[this.layers.length - 1] as LayerState;
  }

  /** The layer that comes after the newest. Undefined if that is the last. */
  get next(): Layer | undefined {
    return this.plan[this.layers.length];
  }

  /** Bytes of all cells, also of those that are reserved. */
  get bytes(): number {
    let bytes = 0;
    for (const layer of this.layers) bytes += layer.bytes;
    if ((this.reserving || this.reserved) && this.next) bytes += filterBytes(this.next.geometry);
    return bytes;
  }

  /** Closes the newest layer and opens the next, with these cells. */
  grow(cells: readonly Uint8Array[]): LayerState {
    const layer = new LayerState(this.base + this.layers.length, this.next as Layer, cells, this.sizes);
    if (this.age) layer.advance(this.age.epoch);
    this.layers.push(layer);
    this.reserved = undefined;
    this.unreserved = undefined;
    return layer;
  }

  /** Has time go on, of a list that ages. */
  tick(now: number): void {
    if (this.age?.tick(now)) this.advance(this.age.epoch);
  }

  /** Goes on to an epoch, of a list that ages. */
  advance(epoch: number): void {
    this.age?.goOn(epoch);
    for (const layer of this.layers) layer.advance(epoch);
  }

  /** The counts of the layers together. */
  sums(): LayerStats {
    const sums = { items: 0, nonZeroCells: 0, saturatedCells: 0 };
    for (const { tally } of this.layers) {
      sums.items += tally.items;
      sums.nonZeroCells += tally.nonZeroCells;
      sums.saturatedCells += tally.saturatedCells;
    }
    return sums;
  }
}
