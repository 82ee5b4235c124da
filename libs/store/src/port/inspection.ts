import type { Positions } from '#bloom';
import type { Filter } from './filter.js';

/** One of the k cells of an item. */
export interface FoundCell {
  /** In the bytes of its segment, counted in cells of its width from 0: `#index` of BITFIELD. */
  readonly index: number;
  /** 0 to 15, or 0 and 1 in a standard filter. In a filter that ages, 0 if the cell has expired. */
  readonly value: number;
}

/** What an item finds in one layer. */
export interface LayerFinding {
  /** Of the layer, which may have several for each of the filter's. */
  readonly segment: number;
  /** In that segment. */
  readonly page: number;
  /** All its cells are above zero. */
  readonly claims: boolean;
  readonly cells: readonly FoundCell[];
  /** Of a filter that ages, if the layer claims the item: when it no longer will, unless it is added again; ms since the epoch. */
  readonly until?: number;
  /** Where the store's operators find the segment with another program, if they can: the key in Redis. */
  readonly key?: string;
}

/** What an item finds in the filter's own layers, oldest first. */
export interface Finding {
  /** What `check` answers, but for what only the list of a sync that is open claims. */
  readonly present: boolean;
  /** Some layer claims it, but it was removed while others kept its cells live: see Counters.remove. */
  readonly hidden: boolean;
  readonly layers: readonly LayerFinding[];
}

/** Some of a layer's cells, by their values. */
export interface LayerSample {
  readonly pages: number;
  readonly sampledPages: number;
  /** How many of the sampled cells have the value that is the index: 16 numbers, or 2 in a standard filter. */
  readonly values: readonly number[];
}

/** Pages that one call of `sample` reads at most, of all layers together. */
export const MOST_SAMPLED_PAGES = 256;

/**
 * Looks into the cells of a filter, for people who want to know why it answers as it does. It changes nothing, and asks of the store
 * no more than a small batch does, however large the filter is.
 *
 * - Both calls throw as `Counters` does. What they read is checked as there: a segment that is missing, short or of another
 *   generation is STORE_DATA_LOST, never a wrong value.
 * - What is told of an item is of one moment; there is no such moment for items of different segments, nor for the pages of
 *   different segments.
 * - While a sync is open they look at the filter's own layers only.
 */
export interface Inspection {
  /** One finding per item, in the batch's order. */
  explain(filter: Filter, positions: Positions, deadline: number): Promise<Finding[]>;

  /**
   * The cells of pages that are drawn anew for each call, each page of a layer as likely as any other, and none twice; of each
   * layer, oldest first. A layer with few pages is read whole.
   */
  sample(filter: Filter, deadline: number): Promise<LayerSample[]>;
}
