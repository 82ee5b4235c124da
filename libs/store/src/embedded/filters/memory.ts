import type { Clock } from '../../clock.js';
import { StaleFilterError } from '../../errors.js';
import { dataLost, notFound } from '../../refusals.js';
import type { Filter, FilterKind, SyncOutcome } from '../../port/index.js';
import type { FilterState } from './filter-state.js';
import { GENERATION_BYTES } from '../database/keys.js';
import { HeadRows } from './head-rows.js';
import { freshWindows, type RecordScope } from '../operations/record-window.js';

/** Room in a quota that a filter takes while it is being created. */
export interface TakenRoom {
  readonly name: string;
  readonly bytes: number;
}

/** Everything that the store holds in memory. It matches the database while no commit is pending. */
export class Memory {
  readonly filters = new Map<string, FilterState>();
  readonly rooms = new Set<TakenRoom>();
  /** Each credential's stored value, by id. */
  readonly credentials = new Map<string, string>();
  readonly headRows: HeadRows;
  /** Sets whose hosts got a turn in the current transaction, other than through a lease. */
  readonly gotTurns = new Set<Filter>();
  /** How syncs ended in the current transaction. */
  endedSyncs: SyncOutcome[] = [];
  /** Scope of the operations on names: create, drop, clear. No generation is all zeros. */
  readonly names: RecordScope;
  /** Sequence number of the last journal record. The first is 1. */
  sequence = 0;
  /** Sequence number of the first journal record kept. */
  journalFirst = 1;
  /** Bytes of the journal records kept. */
  journalBytes = 0;
  /** Damaged keys of the journal, which belong to no record. */
  readonly strayRecords: Buffer[] = [];

  constructor(
    readonly clock: Clock,
    headRows: number,
  ) {
    this.headRows = new HeadRows(headRows);
    const windows = freshWindows(clock.now());
    this.names = { key: Buffer.alloc(GENERATION_BYTES), since: 0, lastChange: 0, windows };
  }

  /** Throws FILTER_NOT_FOUND if no filter of this kind has the name. */
  named(name: string, kind: FilterKind): FilterState {
    const state = this.filters.get(name);
    if (state?.filter.kind !== kind) throw notFound({ name, kind });
    return state;
  }

  /** The state of a filter's generation, for work on its cells and queue. Throws the errors that `Counters` lists. */
  current(filter: Filter): FilterState {
    const state = this.filters.get(filter.name);
    if (!state || state.filter.kind !== filter.kind) throw notFound(filter);
    const { generation, base } = state.filter;
    if (generation !== filter.generation || base !== filter.base) throw new StaleFilterError(filter.name);
    if (state.lost) throw dataLost(filter);
    if (filter.maxAgeSeconds !== undefined) state.tick(this.clock.now());
    return state;
  }
}
