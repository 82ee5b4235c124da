import type { Database } from '../database.js';

/** What the library has, and its types in part. */
interface Inside {
  readonly root: {
    openDB(options: object): {
      get(key: Buffer): Buffer | undefined;
      putSync(key: Buffer, value: Buffer): void;
    };
  };
}

/** Alters a bit of a value, past the table, which would put a checksum on it. */
export function flipRow(database: Database, table: string, key: Buffer): void {
  const rows = (database as unknown as Inside).root.openDB({
    name: table,
    encoding: 'binary',
    keyEncoding: 'binary',
  });
  const value = rows.get(key);
  if (!value) throw new Error(`${table} has no such row`);
  value[3] = (value[3] as number) ^ 4;
  rows.putSync(key, value);
}
