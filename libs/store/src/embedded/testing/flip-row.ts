import type { Database } from '../database/database.js';

/** Flips a bit in a value. Bypasses the table, which would write a matching checksum. */
export function flipRow({ environment }: Database, table: string, key: Buffer, at = 3): void {
  const rows = environment.rows(table);
  const value = rows.get(key);
  if (!value) throw new Error(`${table} has no such row`);
  value[at] = (value[at] as number) ^ 4;
  rows.putSync(key, value);
}
