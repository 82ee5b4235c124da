import type { Positions } from '#bloom';
import type { Database } from '../database/database.js';
import type { FilterState, SyncState } from './filter-state.js';
import { listPrefix, PREFIX_BYTES, prefixRange, SEQUENCE_BYTES, writeNumber } from '../database/keys.js';
import { viewOf } from '../database/row-view.js';
import { HASH_BYTES, HASH_WORDS } from '../hashes/hash-bytes.js';

/*
 * The removals since a sync was opened, by the items' hashes: exactly. A list that is sent later must not bring back what was
 * removed. In memory they are a table; in the database rows of what each batch removed, or added again, which a start reads.
 */

/** In the table, and the first byte of a row. */
const Noted = { Added: 1, Removed: 2 } as const;
type Noted = (typeof Noted)[keyof typeof Noted];

/** Rows may hold so many hashes for each removal that may be noted: items that come and go are in several. */
const HASHES_A_REMOVAL = 4;

/**
 * Inside a transaction: notes the items of a batch as removed. False if that is more than `most` removals, or they have come and gone
 * too often.
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
    if (removals.get(positions.hash, HASH_WORDS * item) === Noted.Removed) continue;
    removals.set(positions.hash, HASH_WORDS * item, Noted.Removed);
    sync.noted++;
    items[count++] = item;
  }
  writeRows(database, state, sync, Noted.Removed, positions, items.subarray(0, count));
  return sync.noted <= most && sync.rowHashes <= HASHES_A_REMOVAL * most;
}

/** Inside a transaction: the items of a batch were added, so their removals no longer count. */
export function dropRemovals(database: Database, state: FilterState, positions: Positions): void {
  const { sync } = state;
  if (!sync || sync.noted === 0) return;
  const { removals } = sync;
  const items = new Uint32Array(positions.count);
  let count = 0;
  for (let item = 0; item < positions.count; item++) {
    if (removals.get(positions.hash, HASH_WORDS * item) !== Noted.Removed) continue;
    removals.set(positions.hash, HASH_WORDS * item, Noted.Added);
    sync.noted--;
    items[count++] = item;
  }
  writeRows(database, state, sync, Noted.Added, positions, items.subarray(0, count));
}

/** 1 for each item of a batch that is noted. Undefined if none is. */
export function notedOf({ noted, removals }: SyncState, { hash, count }: Positions): Uint8Array | undefined {
  if (noted === 0) return undefined;
  const found = new Uint8Array(count);
  for (let item = 0; item < count; item++) {
    if (removals.get(hash, HASH_WORDS * item) === Noted.Removed) found[item] = 1;
  }
  return found.includes(1) ? found : undefined;
}

/** Reads the rows after a start. False if some of them are not there. */
export function readRemovals(database: Database, state: FilterState): boolean {
  const { sync } = state;
  if (!sync) return true;
  const words = new Uint32Array(HASH_WORDS);
  let rows = 0;
  for (const { value } of database.removed.getRange(prefixRange(listPrefix(state.key, sync.opened.base)))) {
    rows++;
    for (let at = 1; at < value.length; at += HASH_BYTES) {
      for (let word = 0; word < HASH_WORDS; word++) words[word] = value.readUInt32BE(at + 4 * word);
      sync.removals.set(words, 0, value[0] as Noted);
    }
  }
  return rows === sync.rows;
}

function writeRows(
  { removed, sizes }: Database,
  { key }: FilterState,
  sync: SyncState,
  kind: Noted,
  { hash }: Positions,
  items: Uint32Array,
): void {
  const most = Math.floor((sizes.rowBytes - 1) / HASH_BYTES);
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
    removed.putSync(rowKey(key, sync), row);
    sync.rows++;
    sync.rowHashes += some.length;
  }
}

/** The next row's key: the list's prefix and a number, from 0. */
function rowKey(generation: Buffer, { opened, rows }: SyncState): Buffer {
  const key = Buffer.allocUnsafe(PREFIX_BYTES + SEQUENCE_BYTES);
  key.set(listPrefix(generation, opened.base));
  writeNumber(key, rows, PREFIX_BYTES);
  return key;
}
