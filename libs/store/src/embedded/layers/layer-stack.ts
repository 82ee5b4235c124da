import { filterBytes, type Layer } from '#bloom';
import type { StoreErrorCode } from '../../errors.js';
import type { LayerStats } from '../../port/index.js';
import { Ageing } from './ageing.js';
import { LayerState } from './layer-state.js';
import type { Sizes } from '../database/sizes.js';

/** A filter's or sync's layer stack. */
export class LayerStack {
  /** The layers that exist, oldest first. */
  readonly layers: [LayerState, ...LayerState[]];
  /** True while memory is being reserved for the next layer. */
  reserving = false;
  /** Memory reserved for the next layer. */
  reserved: readonly Uint8Array[] | undefined;
  /** Present if the layers age. */
  readonly age: Ageing | undefined;
  /** The last failure to reserve memory for the next layer: its monotonic time and its code. */
  unreserved: { readonly at: number; readonly code: StoreErrorCode } | undefined;

  /** `cells`: the cells of the first layer. */
  constructor(
    /** Number of the first layer. */
    readonly base: number,
    /** All planned layers, oldest first. */
    readonly plan: readonly [Layer, ...Layer[]],
    cells: readonly Uint8Array[],
    maxAgeSeconds: number | undefined,
    private readonly sizes: Sizes,
  ) {
    if (maxAgeSeconds !== undefined) this.age = new Ageing(maxAgeSeconds * 1_000, sizes.shownPerTable);
    this.layers = [new LayerState(base, plan[0], cells, sizes)];
  }

  /** The number that follows the last planned layer. */
  get end(): number {
    return this.base + this.plan.length;
  }

  get first(): LayerState {
    return this.layers[0];
  }

  /** The layer that accepts new items. */
  get open(): LayerState {
    return this.layers[this.layers.length - 1] as LayerState;
  }

  /** The layer after the newest one, or undefined if the newest is the last. */
  get next(): Layer | undefined {
    return this.plan[this.layers.length];
  }

  /** Bytes of all cells, reserved ones included. */
  get bytes(): number {
    let bytes = 0;
    for (const layer of this.layers) bytes += layer.bytes;
    if ((this.reserving || this.reserved) && this.next) bytes += filterBytes(this.next.geometry);
    return bytes;
  }

  /** Closes the newest layer and opens the next one with these cells. */
  grow(cells: readonly Uint8Array[]): LayerState {
    const layer = new LayerState(this.base + this.layers.length, this.next as Layer, cells, this.sizes);
    if (this.age) layer.advance(this.age.epoch);
    this.layers.push(layer);
    this.reserved = undefined;
    this.unreserved = undefined;
    return layer;
  }

  /** Sets the time, if the layers age. */
  tick(now: number): void {
    if (this.age?.tick(now)) this.advance(this.age.epoch);
  }

  /** Advances to an epoch, if the layers age. */
  advance(epoch: number): void {
    this.age?.goOn(epoch);
    for (const layer of this.layers) layer.advance(epoch);
  }

  /** The sums of the layers' counts. */
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
