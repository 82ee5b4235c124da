import { hashesOf } from '../../queued-hashes.js';
import { cameDueIn } from '../filters/came-due.js';
import type { FilterState } from '../filters/filter-state.js';
import type { Born } from '../filters/marks.js';
import { syncRows } from '../filters/sync-rows.js';
import { DeadLetters } from './dead-letters.js';
import { DueIndex, DueKind, FIRST_SCHEDULED, stateOf, type Due } from './due.js';
import { entriesOf, EntryPacker, type Entry } from './entry.js';
import { HostLanes, knowsHosts, type HostState } from './host-lanes.js';
import { LaneLogs } from './lane-logs.js';
import { onlyLane } from './lane.js';
import { Leases } from './leases.js';
import { ROWS_OF_LEVEL } from './log.js';
import { VoidEntries, type VoidSession } from './void-entries.js';

/** The parts of a session that a sweep uses. */
export interface SweptStore extends VoidSession {
  /** One byte per hash: 1 if the filter has the item. See Positions for the hashes. */
  claimed(state: FilterState, hashes: Uint32Array): Uint8Array;
  /** Deletes the rows of marks that are no longer needed. */
  readonly purger: { marks(state: FilterState): void };
}

/**
 * Removes forgotten entries and dropped hosts' entries from a queue in one pass, then the marks that existed at the
 * start. Each step runs inside a transaction.
 */
export function* sweepQueue(session: SweptStore, state: FilterState): Generator<void, void, undefined> {
  const { queue } = state;
  const swept = queue.nextMark;
  const drops = queue.unsweptDrops;
  const isMarked = queue.marks.size > 0;
  queue.marks.divide();
  const lives = (entry: Entry): boolean => !queue.marks.cover(entry);
  yield* knowsHosts(state)
    ? sweepLanes(session, state, isMarked ? lives : undefined)
    : sweepLog(session, state, lives);
  yield* sweepLeases(session, state, lives);
  yield* sweepDelayed(session, state, lives);
  yield* sweepLetters(session, state, lives);
  queue.unsweptDrops -= drops;
  queue.marks.dropOld();
  queue.firstMark = Math.max(queue.firstMark, swept);
  session.purger.marks(state);
}

/**
 * Removes the scheduled entries that a commit has voided, and voids those that came due while the sync was open. No
 * other sync opens before this ends. Each step runs inside a transaction.
 */
export function* removeUnkept(session: SweptStore, state: FilterState): Generator<void, void, undefined> {
  const { queue } = state;
  yield* voidCameDue(session, state);
  const lives = (entry: Entry): boolean => !queue.marks.cover(entry) && !isUnkept(session, state, entry);
  yield* sweepDelayed(session, state, lives, FIRST_SCHEDULED);
  queue.unkeptUntil = 0;
}

/** Voids the entries named in a committed sync's rows, unless the filter has their items. Deletes the rows. */
function* voidCameDue(session: SweptStore, state: FilterState) {
  const { removed, sizes } = session.database;
  for (;;) {
    const keys: Buffer[] = [];
    const found: Born[] = [];
    for (const { key, value } of removed.getRange(syncRows(state, state.stack.base))) {
      keys.push(key);
      found.push(...cameDueIn(value));
      if (keys.length + found.length >= sizes.sweptPerSlice) break;
    }
    if (keys.length === 0) return;
    const there = session.claimed(state, hashesOf(found));
    new VoidEntries(session, state).void(found.filter((_, n) => there[n] === 0));
    for (const key of keys) removed.removeSync(key);
    yield;
  }
}

/** True if a commit has voided a scheduled entry. */
export function isUnkept(session: Pick<SweptStore, 'claimed'>, state: FilterState, entry: Entry): boolean {
  if (entry.birth > state.queue.unkeptUntil) return false;
  return session.claimed(state, hashesOf([entry]))[0] === 0;
}

type Lives = (entry: Entry) => boolean;

function* sweepLog({ database, memory }: SweptStore, state: FilterState, lives: Lives) {
  const { sweptRowsPerSlice } = database.sizes;
  for (const [level, { nextRow }] of state.queue.logs.entries()) {
    const end = level * ROWS_OF_LEVEL + nextRow;
    for (let place = level * ROWS_OF_LEVEL; place < end;) {
      const logs = new LaneLogs(database, onlyLane(state), memory.headRows);
      for (let looked = 0; looked < sweptRowsPerSlice && place < end; looked++)
        place = logs.sweep(place, lives) ?? end;
      yield;
    }
  }
}

/** Without `lives`, reads and removes only the entries of dropped hosts. */
function* sweepLanes(session: SweptStore, state: HostState, lives: Lives | undefined) {
  const { sweptRowsPerSlice, hostsPerChange } = session.database.sizes;
  const most = lives ? sweptRowsPerSlice : hostsPerChange;
  let key = state.key;
  for (let row: number | undefined = 0; ;) {
    const lanes = new HostLanes(session, state);
    for (let looked = 0; looked < most; looked++) {
      const lane = lanes.from(key);
      if (!lane) {
        lanes.flush();
        return;
      }
      if (lane.hasDroppedRows) {
        lanes.deleteDropped(lane);
        break;
      }
      row = lives && lanes.sweep(lane, lane.key.equals(key) ? row : 0, lives);
      key = row === undefined ? Buffer.concat([lane.key, Buffer.of(0)]) : lane.key;
      row ??= 0;
    }
    lanes.flush();
    yield;
  }
}

/** Rewrites every lane that has a record. Deletes the record of a lane that counts nothing. */
export function* renewLanes(session: SweptStore, state: HostState): Generator<void, void, undefined> {
  let key = state.key;
  for (;;) {
    const lanes = new HostLanes(session, state);
    for (let n = 0; n < session.database.sizes.hostsPerChange; n++) {
      const lane = lanes.from(key);
      if (!lane) {
        lanes.flush();
        return;
      }
      lanes.renew(lane);
      key = Buffer.concat([lane.key, Buffer.of(0)]);
    }
    lanes.flush();
    yield;
  }
}

/** The lanes of a per-host queue. */
const lanesOf = (session: SweptStore, state: FilterState): HostLanes | undefined =>
  knowsHosts(state) ? new HostLanes(session, state) : undefined;

function* sweepLeases(session: SweptStore, state: FilterState, lives: Lives) {
  const { database } = session;
  const end = state.queue.nextLease;
  const { sweptPerSlice } = database.sizes;
  for (let lease = 0; ;) {
    const lanes = lanesOf(session, state);
    const leases = new Leases(database, state, new DueIndex(database, state), lanes);
    for (let looked = 0; looked < sweptPerSlice; lease++) {
      const next = leases.nextHolding(lease);
      if (next === undefined || next >= end) {
        leases.flush();
        lanes?.flush();
        return;
      }
      lease = next;
      const all = leases.of(lease);
      looked += all.length;
      for (const held of all)
        if (!lives(held.entry) || lanes?.isDropped(held.entry)) leases.remove(lease, held);
    }
    leases.flush();
    lanes?.flush();
    yield;
  }
}

function* sweepDelayed(session: SweptStore, state: FilterState, lives: Lives, from = 0) {
  const { database } = session;
  const { sweptPerSlice } = database.sizes;
  for (let last: Due | undefined; ;) {
    const index = new DueIndex(database, state);
    const lanes = lanesOf(session, state);
    for (let looked = 0; looked < sweptPerSlice; looked++) {
      const due = index.first(last?.at ?? from, last);
      if (!due) {
        lanes?.flush();
        return;
      }
      last = due;
      if (due.kind !== DueKind.Delayed) continue;
      const entries = entriesOf(due.value);
      looked += entries.length;
      const kept = entries.filter((entry) => lives(entry) && !lanes?.isDropped(entry));
      if (kept.length === entries.length) continue;
      const of = stateOf(due);
      for (const entry of entries) {
        if (kept.includes(entry) || lanes?.dismiss(entry)) continue;
        state.queue[of]--;
        lanes?.count(entry, of, -1);
      }
      if (kept.length === 0) index.remove(due);
      else index.replace(due, pack(kept));
    }
    lanes?.flush();
    yield;
  }
}

function* sweepLetters(session: SweptStore, state: FilterState, lives: Lives) {
  const { database } = session;
  const end = state.queue.nextDead;
  const { sweptPerSlice } = database.sizes;
  for (let from = 1; from < end;) {
    const lanes = lanesOf(session, state);
    const letters = new DeadLetters(database, state, lanes);
    const some = letters.from(from, sweptPerSlice);
    for (const letter of some) {
      if (!lives(letter.entry) || lanes?.isDropped(letter.entry)) letters.remove(letter);
    }
    lanes?.flush();
    if (some.length < sweptPerSlice) return;
    from = (some.at(-1)?.number ?? end) + 1;
    yield;
  }
}

const packer = new EntryPacker();

function pack(entries: readonly Entry[]): Buffer {
  packer.clear();
  for (const entry of entries) packer.add(entry);
  return packer.packed();
}
