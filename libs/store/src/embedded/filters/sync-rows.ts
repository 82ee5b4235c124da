import type { Database } from '../database/database.js';
import {
  PREFIX_BYTES,
  prefixRange,
  SEQUENCE_BYTES,
  stackPrefix,
  writeNumber,
  type KeyRange,
} from '../database/keys.js';
import type { FilterState, SyncState } from './filter-state.js';

/** The kinds of sync rows, by first byte. See removals.ts and came-due.ts. */
export const SyncRow = { Added: 1, Removed: 2, CameDue: 3 } as const;
export type SyncRow = (typeof SyncRow)[keyof typeof SyncRow];

/** A sync's rows. `base`: the number of its first layer. */
export const syncRows = ({ key }: Pick<FilterState, 'key'>, base: number): KeyRange =>
  prefixRange(stackPrefix(key, base));

/** Writes a sync's next row. Call it inside a transaction. */
export function addSyncRow({ removed }: Database, generation: Buffer, sync: SyncState, row: Buffer): void {
  const key = Buffer.allocUnsafe(PREFIX_BYTES + SEQUENCE_BYTES);
  key.set(stackPrefix(generation, sync.opened.base));
  writeNumber(key, sync.rows++, PREFIX_BYTES);
  removed.putSync(key, row);
}
