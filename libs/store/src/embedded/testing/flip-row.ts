import type { Database } from '../database/database.js';

/** Alters a bit of a value, past the table, which would put a checksum on it. */
export function flipRow({ environment }: Database, table: string, key: Buffer, at = 3): void {
  const rows = environment.rows(table);
  const value = rows.get(key);
  if (!value) throw new Error(`${table} has no such row`);
  value[at] = (value[at] as number) ^ 4;
  rows.putSync(key, value);
}
