import type { Positions } from '#bloom';
import type { LayerChange } from '../journal/journal.js';
import type { LayerState } from '../layers/layer-state.js';

/** Returned by `raise` for an item that the layer neither claims nor has room for. Differs from all values of Added. */
export const LEFT = 2;

/** The outcome of a batch: one answer per item, and the layers whose cells changed. */
export interface Outcome {
  readonly answers: Uint8Array;
  readonly changes: readonly LayerChange[];
  /** During a sync: 1 for each item that the sync's layers have gained or lost. */
  readonly there?: Uint8Array;
}

/** For how many epochs after the current one items are live: one number per item, or one for all. */
export type Lasts = Uint8Array | number;

/** Options of `raise`. */
export interface Raising {
  /** How many new items the layer may take. */
  readonly room: number;
  /** True: counts an item that is already present once more. Ignored if the layer ages. */
  readonly multiset: boolean;
  /** Used only if the layer ages. */
  readonly lasts: Lasts;
}

/**
 * The verbs on one layer, for cells of one kind: packed counters and bits (packed-layer.ts), or bytes that age
 * (aged-layer.ts). Positions refer to the layer. Each method returns one answer per item. An item that the layer leaves
 * to the other layers gets 0, or LEFT from `raise`.
 *
 * Each kind has its own loops over the items: V8 inlines the functions on an item's cells only into a loop that calls
 * the functions of one kind.
 */
export interface CellKind {
  /** 1 if the layer claims the item. */
  claim(layer: LayerState, positions: Positions): Uint8Array;
  /** The smallest of the item's counters if the layer claims it. */
  least(layer: LayerState, positions: Positions): Uint8Array;
  /** Adds items. Each answer is one of Added, or LEFT. */
  raise(layer: LayerState, positions: Positions, raising: Raising): Outcome;
  /** Removes items. Each answer is one of Removed. */
  lower(layer: LayerState, positions: Positions): Outcome;
}
