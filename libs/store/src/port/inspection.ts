import type { Positions } from '#bloom';
import type { Filter } from './filter.js';

/** One of an item's k cells. */
export interface FoundCell {
  /** Index in the segment's bytes, in cells of this width from 0, as in BITFIELD's `#index`. */
  readonly index: number;
  /** 0 to 15, or 0 or 1 in a standard filter. In a filter that ages, 0 if the cell has expired. */
  readonly value: number;
}

/** An item's cells in one layer. */
export interface LayerFinding {
  /** The layer's segment. One of the filter's segments may correspond to several in a layer. */
  readonly segment: number;
  /** Page in that segment. */
  readonly page: number;
  /** True if all cells are above zero. */
  readonly claims: boolean;
  readonly cells: readonly FoundCell[];
  /**
   * If the filter ages and the layer claims the item: when the item expires unless it is added again. In ms since the
   * epoch.
   */
  readonly until?: number;
  /** The segment's Redis key, for operators who read it with another program. Absent in other stores. */
  readonly key?: string;
}

/** An item's cells in the filter's own layers, oldest first. */
export interface Finding {
  /** The result of `check`, but without an open sync's layers. */
  readonly present: boolean;
  /**
   * True if a layer claims the item only because other items keep its cells live: the item was removed. See
   * Counters.remove.
   */
  readonly hidden: boolean;
  readonly layers: readonly LayerFinding[];
}

/** A sample of a layer's cells, counted by value. */
export interface LayerSample {
  readonly pages: number;
  readonly sampledPages: number;
  /** Number of sampled cells for each value: 16 numbers, or 2 in a standard filter. */
  readonly values: readonly number[];
}

/** Maximum number of pages that one call to `sample` reads, over all layers. */
export const MOST_SAMPLED_PAGES = 256;

/**
 * Reads a filter's cells, to show people why it reports an item as present or absent. Changes nothing, and costs the
 * store no more than a small batch, whatever the filter's size.
 *
 * - Both calls throw the errors that `Counters` lists, and make the same checks: a segment that is missing, short or of
 *   a different generation causes STORE_DATA_LOST, never a wrong value.
 * - A finding is a snapshot of its item. Items or pages in different segments may be read at different moments.
 * - While a sync is open, both calls read only the filter's own layers.
 */
export interface Inspection {
  /** One finding per item, in the batch's order. */
  explain(filter: Filter, positions: Positions, deadline: number): Promise<Finding[]>;

  /**
   * Random pages of each layer, oldest layer first. Each call draws uniformly, without repetition. A layer with few
   * pages is read whole.
   */
  sample(filter: Filter, deadline: number): Promise<LayerSample[]>;
}
