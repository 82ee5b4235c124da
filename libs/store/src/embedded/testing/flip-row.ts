import type { Database } from '../database.js';

/** Alters a bit of a value, past the table, which would put a checksum on it. */
export function flipRow({ environment }: Database, table: string, key: Buffer): void {
  const rows = environment.rows(table);
  const value = rows.get(key);
  if (!value) throw new Error(`${table} has no such row`);
  value[3] = (value[3] as number) ^ 4;
  rows.putSync(key, value);
}
