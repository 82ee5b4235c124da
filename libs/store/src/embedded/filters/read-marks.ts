import type { Database } from '../database/database.js';
import type { FilterState } from './filter-state.js';
import type { Snapshot } from '../database/snapshot.js';
import { numberedKey } from '../database/keys.js';

/** Reads a queue's marks after a start. Returns false if some are missing. */
export function readMarks(database: Database, { key, queue }: FilterState, snapshot?: Snapshot): boolean {
  let rows = 0;
  const range = { start: numberedKey(key, queue.firstMark), end: numberedKey(key, queue.nextMark) };
  const at = snapshot && { transaction: snapshot.transaction };
  for (const { value } of database.marks.getRange({ ...range, ...at })) {
    queue.marks.add(value);
    rows++;
  }
  return rows === queue.nextMark - queue.firstMark;
}
