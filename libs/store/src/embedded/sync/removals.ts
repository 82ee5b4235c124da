import type { Positions } from '#bloom';
import { listPrefix, PREFIX_BYTES } from '../keys.js';
import type { FilterState, SyncState } from '../filter-state.js';
import type { Session } from '../session.js';

/*
 * The removals since a sync was opened, by the items' hashes: exactly, a row each. A list that is sent later must not bring
 * back what was removed. All of this happens inside a transaction.
 */

const HASH_BYTES = 16;
const NOTHING = new Uint8Array(0);

/** Notes the items of a batch as removed, unless that would make more than `most`: then it answers false. */
export function noteRemovals(
  session: Session,
  state: FilterState,
  positions: Positions,
  most: number,
): boolean {
  const { sync } = state;
  if (!sync) return true;
  const { removed } = session.database;
  for (let item = 0; item < positions.count; item++) {
    const isNew = removed.putSync(removalKey(state, sync, positions, item), NOTHING, { noOverwrite: true });
    if (isNew && ++sync.noted > most) return false;
  }
  return true;
}

/** The items of a batch were added: their removals no longer count. */
export function dropRemovals(session: Session, state: FilterState, positions: Positions): void {
  const { sync } = state;
  if (!sync) return;
  for (let item = 0; item < positions.count && sync.noted > 0; item++) {
    if (session.database.removed.removeSync(removalKey(state, sync, positions, item))) sync.noted--;
  }
}

/** 1 for each item of a batch that is noted. Undefined if none is. */
export function notedOf(
  session: Session,
  state: FilterState & { sync: SyncState },
  positions: Positions,
): Uint8Array | undefined {
  const { sync } = state;
  if (sync.noted === 0) return undefined;
  const noted = new Uint8Array(positions.count);
  for (let item = 0; item < positions.count; item++) {
    if (session.database.removed.get(removalKey(state, sync, positions, item))) noted[item] = 1;
  }
  return noted.includes(1) ? noted : undefined;
}

function removalKey({ key }: FilterState, { opened }: SyncState, { hash }: Positions, item: number): Buffer {
  const row = Buffer.allocUnsafe(PREFIX_BYTES + HASH_BYTES);
  row.set(listPrefix(key, opened.base));
  for (let word = 0; word < 4; word++) {
    row.writeUInt32BE(hash[4 * item + word] as number, PREFIX_BYTES + 4 * word);
  }
  return row;
}
