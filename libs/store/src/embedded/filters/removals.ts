import type { Positions } from '#bloom';
import type { Database } from '../database/database.js';
import type { FilterState, SyncState } from './filter-state.js';
import { viewOf } from '../database/row-view.js';
import { HASH_BYTES, HASH_WORDS } from '../hashes/hash-bytes.js';
import { addSyncRow, SyncRow, syncRows } from './sync-rows.js';

/*
 * The exact items removed since a sync was opened, by hash. An input list that is sent later must not bring them back.
 * In memory, they are in a table. In the database, each batch has rows with the items that it removed or added again.
 * The store reads these rows when it starts.
 */

/** The values in the table. */
type Noted = typeof SyncRow.Added | typeof SyncRow.Removed;

/**
 * Maximum number of hashes in rows, as a multiple of the removals that may be noted. An item that is removed and added
 * several times is in several rows.
 */
const HASHES_A_REMOVAL = 4;

/**
 * Notes a batch's items as removed. Returns false if that makes more than `most` removals, or if items have been
 * removed and added too often. Call it inside a transaction.
 */
export function noteRemovals(
  database: Database,
  state: FilterState,
  positions: Positions,
  most: number,
): boolean {
  const { sync } = state;
  if (!sync) return true;
  const { removals } = sync;
  const items = new Uint32Array(positions.count);
  let count = 0;
  for (let item = 0; item < positions.count; item++) {
    if (removals.get(positions.hash, HASH_WORDS * item) === SyncRow.Removed) continue;
    removals.set(positions.hash, HASH_WORDS * item, SyncRow.Removed);
    sync.noted++;
    items[count++] = item;
  }
  writeRows(database, state, sync, SyncRow.Removed, positions, items.subarray(0, count));
  return sync.noted <= most && sync.rowHashes <= HASHES_A_REMOVAL * most;
}

/** Drops removals of items that a batch has added. Call it inside a transaction. */
export function dropRemovals(database: Database, state: FilterState, positions: Positions): void {
  const { sync } = state;
  if (!sync || sync.noted === 0) return;
  const { removals } = sync;
  const items = new Uint32Array(positions.count);
  let count = 0;
  for (let item = 0; item < positions.count; item++) {
    if (removals.get(positions.hash, HASH_WORDS * item) !== SyncRow.Removed) continue;
    removals.set(positions.hash, HASH_WORDS * item, SyncRow.Added);
    sync.noted--;
    items[count++] = item;
  }
  writeRows(database, state, sync, SyncRow.Added, positions, items.subarray(0, count));
}

/** One byte per item: 1 if it is noted as removed. Undefined if no items are noted. */
export function notedOf({ noted, removals }: SyncState, { hash, count }: Positions): Uint8Array | undefined {
  if (noted === 0) return undefined;
  const found = new Uint8Array(count);
  for (let item = 0; item < count; item++) {
    if (removals.get(hash, HASH_WORDS * item) === SyncRow.Removed) found[item] = 1;
  }
  return found.includes(1) ? found : undefined;
}

/** Reads a sync's rows after a start. Returns false if some are missing. */
export function readRemovals(database: Database, state: FilterState): boolean {
  const { sync } = state;
  if (!sync) return true;
  const words = new Uint32Array(HASH_WORDS);
  let rows = 0;
  for (const { value } of database.removed.getRange(syncRows(state, sync.opened.base))) {
    rows++;
    if (value[0] === SyncRow.CameDue) {
      sync.cameDue++;
      continue;
    }
    for (let at = 1; at < value.length; at += HASH_BYTES) {
      for (let word = 0; word < HASH_WORDS; word++) words[word] = value.readUInt32BE(at + 4 * word);
      sync.removals.set(words, 0, value[0] as Noted);
    }
  }
  return rows === sync.rows;
}

function writeRows(
  database: Database,
  { key }: FilterState,
  sync: SyncState,
  kind: Noted,
  { hash }: Positions,
  items: Uint32Array,
): void {
  const most = Math.floor((database.sizes.rowBytes - 1) / HASH_BYTES);
  for (let from = 0; from < items.length; from += most) {
    const some = items.subarray(from, from + most);
    const row = Buffer.allocUnsafe(1 + HASH_BYTES * some.length);
    const view = viewOf(row);
    row[0] = kind;
    let at = 1;
    for (const item of some) {
      for (let word = 0; word < HASH_WORDS; word++, at += 4)
        view.setUint32(at, hash[HASH_WORDS * item + word] as number);
    }
    addSyncRow(database, key, sync, row);
    sync.rowHashes += some.length;
  }
}
