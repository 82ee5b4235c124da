import { filterBytes, type Layer } from '#bloom';
import type { StoreErrorCode } from '../errors.js';
import { plannedLayers } from '../planned-layers.js';
import type { CallCounts, Filter, LayerStats } from '../store.js';
import { generationKey } from './keys.js';
import { LayerState } from './layer-state.js';
import { QueueState } from './queue/queue-state.js';
import { freshWindows, type RecordScope, type RecordWindow } from './record-window.js';

/** Counts of calls on a filter; see FilterStats. Those of its items are its layers'. */
export type Tally = { -readonly [K in Exclude<keyof CallCounts, 'items'>]: number };

/** One generation of a filter in memory. */
export class FilterState implements RecordScope {
  readonly key: Buffer;
  readonly since: number;
  /** All that the filter may have. */
  readonly plan: readonly [Layer, ...Layer[]];
  /** Those there are, oldest first. */
  readonly layers: [LayerState, ...LayerState[]];
  readonly tally: Tally = { added: 0, duplicate: 0, removed: 0, refused: 0 };
  /** Of a visited set. */
  readonly queue = new QueueState();
  windows: { caller: RecordWindow; made: RecordWindow };
  lastChange = 0;
  /** Part of its data is missing, so every call is refused. */
  lost = false;
  /** Memory is being reserved for the next layer. */
  reserving = false;
  /** Memory that is reserved for the next layer. */
  reserved: readonly Uint8Array[] | undefined;
  /** There was none for it: when, by performance.now(), and why. */
  unreserved: { readonly at: number; readonly code: StoreErrorCode } | undefined;

  /** `cells` are those of the first layer. */
  constructor(
    readonly filter: Filter,
    cells: readonly Uint8Array[],
    now: number,
  ) {
    this.key = generationKey(filter.generation);
    this.since = filter.createdAt;
    this.plan = plannedLayers(filter);
    this.layers = [new LayerState(0, this.plan[0], cells)];
    this.windows = freshWindows(now);
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
    const layer = new LayerState(this.layers.length, this.next as Layer, cells);
    this.layers.push(layer);
    this.reserved = undefined;
    this.unreserved = undefined;
    return layer;
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
