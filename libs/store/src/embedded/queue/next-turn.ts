import type { Database } from '../database/database.js';
import { type HostStats, MOST_COUNTED_HOSTS } from '../../port/index.js';
import type { FilterState } from '../filters/filter-state.js';
import { headOf } from '../filters/logs.js';
import { HostLane } from './host-lane.js';
import { knowsHosts, type HostState } from './host-lanes.js';
import type { LaneStore } from './lane-records.js';
import { dueDiscoveredAt } from './overdue.js';
import { Turns } from './turns.js';

/** How many turns to search for a lane with a waiting entry. */
const LOOKED = 16;

/** When the next entry to be leased was discovered. Undefined if none is waiting or can be leased. */
export function headDiscoveredAt(store: LaneStore, state: FilterState, now: number): number | undefined {
  return waitingDiscoveredAt(store.database, state) ?? dueDiscoveredAt(store, state, now);
}

/** Like headDiscoveredAt, without entries that are due but have not moved yet. */
function waitingDiscoveredAt(database: Database, state: FilterState): number | undefined {
  if (!knowsHosts(state)) return headOf(state.queue.logs)?.headDiscoveredAt;
  for (const { lane: key } of new Turns(database, state.key).from(0, LOOKED)) {
    const head = headOf(new HostLane(key, database.lanes.get(key)).logs);
    if (head) return head.headDiscoveredAt;
  }
  return undefined;
}

/** Counts a per-host queue's hosts. */
export function hostStats(database: Database, state: HostState, now: number): HostStats {
  const turns = new Turns(database, state.key);
  const next = Math.floor(state.queue.timeAt(now)) + 1;
  return {
    known: state.queue.lanes,
    due: turns.count(0, next, MOST_COUNTED_HOSTS),
    blocked: turns.count(next, Infinity, MOST_COUNTED_HOSTS),
  };
}

/** When the first lane with time `from` or later is due, in ms since the epoch. Undefined if there is no such lane. */
export function nextTurn(
  database: Database,
  state: FilterState,
  from: number,
  now: number,
): number | undefined {
  if (!knowsHosts(state)) return undefined;
  const ahead = state.queue.timeAt(now) - now;
  const [turn] = new Turns(database, state.key).from(from + ahead, 1);
  return turn && turn.at - ahead;
}
