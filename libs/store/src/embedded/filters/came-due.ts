import type { Database } from '../database/database.js';
import { HASH_BYTES } from '../hashes/hash-bytes.js';
import type { FilterState } from './filter-state.js';
import type { Born } from './marks.js';
import { addSyncRow, SyncRow } from './sync-rows.js';

/*
 * The scheduled entries that came due while a sync was open. The commit drops those whose items the sync does not
 * claim, in any state. Rows name entries, not just their items: in a set that ages, an expired item may have a later
 * entry that was never scheduled.
 *
 * Only entries that were scheduled when the sync was opened are noted. An entry that was scheduled later has already
 * been noted, or its item was kept with the queue or added during the sync. So each entry is noted at most once,
 * however often it comes due.
 */

const BIRTH_BYTES = 6;
const NAME_BYTES = BIRTH_BYTES + HASH_BYTES;

/** True if entries that come due must be noted. `row`: their row's number in the index of due entries. */
export function notesCameDue({ sync }: FilterState, row: number): boolean {
  return sync !== undefined && row < sync.nextDelayed;
}

/** Notes scheduled entries that come due in one change. Call it inside a transaction. */
export function noteCameDue(database: Database, state: FilterState, entries: readonly Born[]): void {
  const { sync, key } = state;
  if (!sync) return;
  const most = Math.floor((database.sizes.rowBytes - 1) / NAME_BYTES);
  for (let from = 0; from < entries.length; from += most) {
    addSyncRow(database, key, sync, packRow(entries.slice(from, from + most)));
    sync.cameDue++;
  }
}

function packRow(entries: readonly Born[]): Buffer {
  const row = Buffer.allocUnsafe(1 + NAME_BYTES * entries.length);
  row[0] = SyncRow.CameDue;
  let at = 1;
  for (const { birth, hash } of entries) {
    row.writeUIntBE(birth, at, BIRTH_BYTES);
    row.set(hash, at + BIRTH_BYTES);
    at += NAME_BYTES;
  }
  return row;
}

/** The entries that a row of a sync names. */
export function cameDueIn(row: Buffer): Born[] {
  const found: Born[] = [];
  if (row[0] !== SyncRow.CameDue) return found;
  for (let at = 1; at < row.length; at += NAME_BYTES) {
    const hash = row.subarray(at + BIRTH_BYTES, at + NAME_BYTES);
    found.push({ birth: row.readUIntBE(at, BIRTH_BYTES), hash });
  }
  return found;
}
