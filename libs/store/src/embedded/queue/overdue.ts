import type { FilterState } from '../filters/filter-state.js';
import { DueIndex, DueKind, stateOf } from './due.js';
import { dueEntries, dueRows, type DueEntry } from './due-entries.js';
import { entriesOf } from './entry.js';
import { knowsHosts, type HostLanes, type HostState } from './host-lanes.js';
import { LaneRecords, type LaneStore } from './lane-records.js';

export type Overdue = Record<DueEntry['state'], number>;

/**
 * How many entries in each state are due but have not moved yet, counted in a limited number of rows. Entries of
 * dropped hosts don't count. Reads outside transactions, so the counts may date from an earlier commit.
 */
export function overdue(store: LaneStore, state: FilterState, now: number): Overdue {
  const { database } = store;
  const counts = { leased: 0, delayed: 0, scheduled: 0 };
  if (!state.queue.mayBeDue(now)) return counts;
  if (knowsHosts(state) && state.queue.unsweptDrops > 0) {
    const lanes = new LaneRecords(store, state);
    for (const { entry, state: from } of dueEntries(database, state, now, () => lanes.read))
      if (entry.birth > lanes.of(entry.word(0), entry.hostWord).dropped) counts[from]++;
    return counts;
  }
  // Counts whole rows, without their entries.
  for (const due of dueRows(new DueIndex(database, state), now)) {
    if (due.kind === DueKind.LeaseEnd) counts.leased += due.value.readUInt32BE();
    else counts[stateOf(due)] += entriesOf(due.value).length;
  }
  return counts;
}

/**
 * In the lanes that have been read, counts due entries as the next lease will, but moves none: see HostLanes. Like
 * `overdue`, it leaves out dropped entries and reads a limited number of rows.
 */
export function countDue({ database }: LaneStore, state: HostState, lanes: HostLanes, now: number): void {
  if (!state.queue.mayBeDue(now)) return;
  for (const due of dueEntries(database, state, now)) lanes.countDue(due.entry, due.state, due.until);
}
