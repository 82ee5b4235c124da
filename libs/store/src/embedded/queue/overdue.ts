import type { FilterState } from '../filters/filter-state.js';
import { DueIndex, DueKind, stateOf, type DelayedState, type Due } from './due.js';
import { entriesOf, type Entry } from './entry.js';
import { knowsHosts } from './host-lanes.js';
import { LaneRecords, type LaneStore } from './lane-records.js';
import { Leases, type HeldEntry } from './leases.js';

/** Maximum number of rows of due entries that one count reads. */
const ROWS_COUNTED = 250;

export type Overdue = Record<'leased' | DelayedState, number>;

/**
 * Number of entries in each state that are due and have not moved yet, as far as a limited number of rows tell. Entries
 * of dropped hosts do not count. Reads outside transactions, so its counts may be those of an earlier commit.
 */
export function overdue(store: LaneStore, state: FilterState, now: number): Overdue {
  const counts = { leased: 0, delayed: 0, scheduled: 0 };
  const { earliestDue, earliestScheduled, unsweptDrops } = state.queue;
  if (Math.min(earliestDue, earliestScheduled) > now) return counts;
  const index = new DueIndex(store.database, state);
  const live = knowsHosts(state) && unsweptDrops > 0 ? new LiveEntries(store, state, index) : undefined;
  let left = ROWS_COUNTED;
  for (const due of index.until(now)) {
    if (left <= 0) break;
    left -= 1;
    if (due.kind === DueKind.Delayed) {
      const entries = entriesOf(due.value);
      counts[stateOf(due)] += live ? live.countIn(entries) : entries.length;
    } else if (live) {
      const { count, read } = live.countEnds(due);
      counts.leased += count;
      left -= read;
    } else counts.leased += due.value.readUInt32BE();
  }
  return counts;
}

/** The entries whose hosts have not been dropped since. */
class LiveEntries {
  private readonly lanes: LaneRecords;
  private readonly leases: Leases;
  private readonly held = new Map<number, readonly HeldEntry[]>();

  constructor(
    private readonly store: LaneStore,
    state: FilterState,
    due: DueIndex,
  ) {
    this.lanes = new LaneRecords(store, state);
    this.leases = new Leases(store.database, state, due, undefined);
  }

  countIn(entries: readonly Entry[]): number {
    return entries.filter((entry) => entry.birth > this.lanes.of(entry.word(0), entry.hostWord).dropped)
      .length;
  }

  /** Counts the entries of a lease that end at one time. `read`: the number of rows that it had to read. */
  countEnds({ number, at }: Due): { readonly count: number; readonly read: number } {
    const known = this.held.get(number);
    const held = known ?? this.leases.of(number);
    this.held.set(number, held);
    const ended = held.filter(({ until }) => until === at).map(({ entry }) => entry);
    const read = known ? 0 : Math.ceil(held.length / this.store.database.sizes.leasePortion);
    return { count: this.countIn(ended), read };
  }
}
