import type { FilterState } from '../filters/filter-state.js';
import type { Logs } from '../filters/logs.js';

/** The waiting entries of one host, or of all hosts, in one log per priority. */
export interface Lane {
  /** Identifies the lane among the lanes of all generations. */
  readonly id: string;
  /** Its row keys in the log begin with this. */
  readonly key: Buffer;
  /** Has the logs for all priorities once an entry is not normal. */
  readonly numbers: { logs: Logs };
}

/** The only lane of a queue without `perHost`. Its numbers are stored with the set's state. */
export function onlyLane({ filter, key, queue }: FilterState): Lane {
  return { id: filter.generation, key, numbers: queue };
}
