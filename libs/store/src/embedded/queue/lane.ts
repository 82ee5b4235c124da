import type { FilterState } from '../filters/filter-state.js';
import type { Logs } from '../filters/logs.js';

/** The waiting entries of a host, or of all hosts, in a log for each priority. */
export interface Lane {
  /** Names the lane among the lanes of all generations. */
  readonly id: string;
  /** The keys of its rows in the log begin with this. */
  readonly key: Buffer;
  /** Has the logs of all priorities once an entry is not normal. */
  readonly numbers: { logs: Logs };
}

/** The only lane of a queue without `perHost`. Its numbers are stored with the state of the set. */
export function onlyLane({ filter, key, queue }: FilterState): Lane {
  return { id: filter.generation, key, numbers: queue };
}
