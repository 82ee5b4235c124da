import type { Database } from '../database/database.js';
import type { FilterState } from '../filters/filter-state.js';
import { cameDueAt, DueIndex, DueKind, stateOf, type DelayedState, type Due } from './due.js';
import { entriesOf, type Entry } from './entry.js';
import { Leases, type HeldEntry } from './leases.js';

/** Maximum number of rows that one count of due entries reads. */
const ROWS_READ = 250;

/** An entry that is due but hasn't moved yet. */
export interface DueEntry {
  readonly entry: Entry;
  /** Its state until it moves. */
  readonly state: 'leased' | DelayedState;
  /** When it came due, in ms since the epoch. */
  readonly until: number;
}

/** The due rows that a count reads, in order of time. */
export function* dueRows(index: DueIndex, now: number): Generator<Due, void, undefined> {
  let rows = 0;
  for (const due of index.until(now)) {
    if (++rows > ROWS_READ) return;
    yield due;
  }
}

/**
 * The due entries in a limited number of rows. The rows of leases also count towards the limit, and so do `others`:
 * rows that the caller has read for these entries.
 */
export function* dueEntries(
  database: Database,
  state: FilterState,
  now: number,
  others: () => number = () => 0,
): Generator<DueEntry, void, undefined> {
  const index = new DueIndex(database, state);
  const leases = new Leases(database, state, index, undefined);
  const opened = new Map<number, readonly HeldEntry[]>();
  let rows = 0;
  const endsAt = ({ number, at }: Due): Entry[] => {
    let held = opened.get(number);
    if (!held) {
      held = leases.of(number);
      opened.set(number, held);
      rows += Math.ceil(held.length / database.sizes.leasePortion);
    }
    return held.filter(({ until }) => until === at).map(({ entry }) => entry);
  };
  for (const due of dueRows(index, now)) {
    rows++;
    const isLease = due.kind === DueKind.LeaseEnd;
    for (const entry of isLease ? endsAt(due) : entriesOf(due.value)) {
      if (rows + others() > ROWS_READ) return;
      yield { entry, state: isLease ? 'leased' : stateOf(due), until: cameDueAt(due) };
    }
  }
}
