import type { FilterState } from '../filters/filter-state.js';
import { DueIndex, DueKind, stateOf } from './due.js';
import { dueEntries, dueRows, type DueEntry } from './due-entries.js';
import { entriesOf } from './entry.js';
import { knowsHosts, type HostLanes, type HostState } from './host-lanes.js';
import { LaneRecords, type LaneStore } from './lane-records.js';

export type Overdue = Record<DueEntry['state'], number>;

/** The due entries that were not dropped with their hosts. Like dueEntries, reads a limited number of rows. */
function* standing(store: LaneStore, state: FilterState, now: number): Generator<DueEntry, void, undefined> {
  const lanes = knowsHosts(state) && state.queue.unsweptDrops > 0 ? new LaneRecords(store, state) : undefined;
  for (const due of dueEntries(store.database, state, now, () => lanes?.read ?? 0)) {
    const { entry } = due;
    if (!lanes || entry.birth > lanes.of(entry.word(0), entry.hostWord).dropped) yield due;
  }
}

/**
 * Counts the entries that are due but have not moved yet, by state, in a limited number of rows. Entries that were
 * dropped with their hosts don't count. Reads outside transactions, so the counts may be those of an earlier commit.
 */
export function overdue(store: LaneStore, state: FilterState, now: number): Overdue {
  const counts = { leased: 0, delayed: 0, scheduled: 0 };
  if (!state.queue.mayBeDue(now)) return counts;
  if (knowsHosts(state) && state.queue.unsweptDrops > 0) {
    for (const due of standing(store, state, now)) counts[due.state]++;
    return counts;
  }
  // Counts whole rows, without their entries.
  for (const due of dueRows(new DueIndex(store.database, state), now)) {
    if (due.kind === DueKind.LeaseEnd) counts.leased += due.value.readUInt32BE();
    else counts[stateOf(due)] += entriesOf(due.value).length;
  }
  return counts;
}

/** When the entry that has been due for longest was discovered. Undefined if none is due. */
export function dueDiscoveredAt(store: LaneStore, state: FilterState, now: number): number | undefined {
  if (!state.queue.mayBeDue(now)) return undefined;
  for (const { entry } of standing(store, state, now)) return entry.discoveredAt;
  return undefined;
}

/**
 * Counts due entries as waiting, as the next lease would, but moves none (see HostLanes). Counts only in lanes that
 * have been read. Like `overdue`, leaves out entries that were dropped with their hosts, and reads a limited number of
 * rows.
 */
export function countDue({ database }: LaneStore, state: HostState, lanes: HostLanes, now: number): void {
  if (!state.queue.mayBeDue(now)) return;
  for (const due of dueEntries(database, state, now)) lanes.countDue(due.entry, due.state, due.until);
}
