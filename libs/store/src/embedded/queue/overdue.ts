import type { FilterState } from '../filters/filter-state.js';
import { DueIndex, DueKind, stateOf, type DelayedState, type Due } from './due.js';
import { entriesOf, type Entry } from './entry.js';
import { knowsHosts } from './host-lanes.js';
import { LaneRecords, type LaneStore } from './lane-records.js';
import { Leases, type HeldEntry } from './leases.js';

/** How many rows of due entries, of leases and of lanes one count reads at most. */
const ROWS_READ = 250;

export type Overdue = Record<'leased' | DelayedState, number>;

/**
 * How many entries in each state are due but have not moved yet, counted in a limited number of rows. Entries of
 * dropped hosts don't count. Reads outside transactions, so the counts may date from an earlier commit.
 */
export function overdue(store: LaneStore, state: FilterState, now: number): Overdue {
  const counts = { leased: 0, delayed: 0, scheduled: 0 };
  const { earliestDue, earliestScheduled, unsweptDrops } = state.queue;
  if (Math.min(earliestDue, earliestScheduled) > now) return counts;
  const index = new DueIndex(store.database, state);
  const live = knowsHosts(state) && unsweptDrops > 0 ? new LiveEntries(store, state, index) : undefined;
  let rows = 0;
  for (const due of index.until(now)) {
    const left = ROWS_READ - ++rows - (live?.read ?? 0);
    if (left < 0) break;
    if (due.kind === DueKind.Delayed) {
      const entries = entriesOf(due.value);
      counts[stateOf(due)] += live ? live.countIn(entries, left) : entries.length;
    } else counts.leased += live ? live.countEnds(due, left) : due.value.readUInt32BE();
  }
  return counts;
}

/** Entries whose hosts haven't been dropped since. */
class LiveEntries {
  private readonly lanes: LaneRecords;
  private readonly leases: Leases;
  private readonly held = new Map<number, readonly HeldEntry[]>();
  private leaseRows = 0;

  constructor(
    private readonly store: LaneStore,
    state: FilterState,
    due: DueIndex,
  ) {
    this.lanes = new LaneRecords(store, state);
    this.leases = new Leases(store.database, state, due, undefined);
  }

  /** How many rows of leases and lanes it has read. */
  get read(): number {
    return this.leaseRows + this.lanes.read;
  }

  /** Counts the entries until it has read `left` lanes. */
  countIn(entries: readonly Entry[], left: number): number {
    const most = this.lanes.read + left;
    let count = 0;
    for (const entry of entries) {
      if (this.lanes.read >= most) break;
      if (entry.birth > this.lanes.of(entry.word(0), entry.hostWord).dropped) count++;
    }
    return count;
  }

  /** Counts a lease's entries that end at one time, until it has read about `left` rows. */
  countEnds({ number, at }: Due, left: number): number {
    const known = this.held.get(number);
    const held = known ?? this.leases.of(number);
    this.held.set(number, held);
    const rows = known ? 0 : Math.ceil(held.length / this.store.database.sizes.leasePortion);
    this.leaseRows += rows;
    const ended = held.filter(({ until }) => until === at).map(({ entry }) => entry);
    return this.countIn(ended, left - rows);
  }
}
