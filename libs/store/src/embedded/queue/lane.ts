import type { FilterState } from '../filters/filter-state.js';

/** The numbers of a lane. */
export interface LaneNumbers {
  /** Number of waiting entries. */
  waiting: number;
  /** The head of the log: row, offset in the row, and when the entry there was discovered, if any. */
  headRow: number;
  headAt: number;
  headDiscoveredAt: number;
  /** The next number to assign to a row. */
  nextRow: number;
}

/** A run of waiting entries, which are leased in order. */
export interface Lane {
  /** Names the lane among the lanes of all generations. */
  readonly id: string;
  /** The keys of its rows in the log begin with this. */
  readonly key: Buffer;
  readonly numbers: LaneNumbers;
}

/** The only lane of a queue that does not know hosts. Its numbers are stored with the state of the set. */
export function onlyLane({ filter, key, queue }: FilterState): Lane {
  return { id: filter.generation, key, numbers: queue };
}
