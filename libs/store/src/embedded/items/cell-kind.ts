import type { Positions } from '#bloom';
import type { LayerChange } from '../journal/journal.js';
import type { LayerState } from '../layers/layer-state.js';

/** What `raise` answers for an item that its layer neither claims nor has room for. No value of Added is the same. */
export const LEFT = 2;

/** What a batch did: one answer per item, and the layers whose cells changed. */
export interface Outcome {
  readonly answers: Uint8Array;
  readonly changes: readonly LayerChange[];
}

/** For how many epochs after the present items are live: each of them, or all alike. */
export type Lasts = Uint8Array | number;

/** How a batch is added to a layer. */
export interface Raising {
  /** The number of new items that the layer may take. */
  readonly room: number;
  /** Whether an item that is present is counted once more. Not if the layer ages. */
  readonly multiset: boolean;
  /** Used only if the layer ages. */
  readonly lasts: Lasts;
}

/**
 * What a batch does in one layer, for cells of one kind: packed counters and bits (packed-layer.ts), or bytes that age
 * (aged-layer.ts). Positions are those in the layer. There is one answer per item: 0 for an item that the layer leaves
 * to the other layers of its list, or LEFT from `raise`.
 *
 * Each kind has its own loops over the items. V8 inlines the functions on an item's cells into a loop that calls those
 * of one kind only.
 */
export interface CellKind {
  /** 1 if the layer claims the item. */
  claim(layer: LayerState, positions: Positions): Uint8Array;
  /** The smallest of the item's counters if the layer claims it. */
  least(layer: LayerState, positions: Positions): Uint8Array;
  /** Adds items. Answers one of Added, or LEFT. */
  raise(layer: LayerState, positions: Positions, raising: Raising): Outcome;
  /** Removes items. Answers one of Removed. */
  lower(layer: LayerState, positions: Positions): Outcome;
}
