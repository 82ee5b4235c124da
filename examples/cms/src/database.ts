import { closeSync, mkdirSync, openSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from 'fs-native-extensions';
import sqlite from 'node-sqlite3-wasm';

export type Row = Readonly<Record<string, string | number | null>>;
type Value = string | number | null;

/** Each entry brings a database one version further; none is ever edited. */
const MIGRATIONS = [
  `CREATE TABLE articles (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     url TEXT NOT NULL UNIQUE,
     title TEXT NOT NULL,
     body TEXT NOT NULL,
     origin TEXT NOT NULL CHECK (origin IN ('upload', 'crawl')),
     -- How often it was taken in.
     version INTEGER NOT NULL DEFAULT 1,
     taken_at INTEGER NOT NULL,
     -- After this it is stale: no longer shown, and forgotten by the next sync.
     live_until INTEGER NOT NULL,
     -- 1 if its URL was answered "new", so that the visited set holds it for this article, and is to forget it with it.
     counted INTEGER NOT NULL
   );
   CREATE INDEX articles_by_end ON articles (live_until);
   CREATE TABLE uploads (
     id TEXT PRIMARY KEY,
     url TEXT NOT NULL,
     title TEXT NOT NULL,
     body TEXT NOT NULL,
     live_until INTEGER NOT NULL,
     force INTEGER NOT NULL,
     state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'taken', 'seen', 'invalid')),
     article INTEGER,
     uploaded_at INTEGER NOT NULL
   );
   -- What the visited set has not been told yet, in the order in which it is to be.
   CREATE TABLE outbox (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     key TEXT NOT NULL,
     url TEXT NOT NULL,
     -- Of a visit; a row without one is to be forgotten.
     upload TEXT REFERENCES uploads (id),
     first_sent_at INTEGER
   );
   CREATE INDEX outbox_by_url ON outbox (url);
   -- What is known of the visited set: its generation, the key of the sync that is under way.
   CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT NOT NULL);`,
];

/**
 * An SQLite database that one process owns. The library locks by making a folder, which a process that is killed leaves behind; so
 * a lock of the kernel, which ends with its process, says who the owner is.
 */
export class Database {
  private constructor(
    private readonly database: InstanceType<typeof sqlite.Database>,
    /** The file that is locked. */
    private readonly owner: number,
  ) {}

  /** Throws an Error that says so if another process has it open. */
  static open(folder: string): Database {
    mkdirSync(folder, { recursive: true });
    const owner = openSync(join(folder, 'owner.lock'), 'a');
    try {
      if (!tryLock(owner)) throw new Error(`${folder} is in use by another process`);
      const file = join(folder, 'cms.db');
      removeLock(`${file}.lock`);
      const opened = new Database(new sqlite.Database(file), owner);
      opened.database.exec('PRAGMA locking_mode = EXCLUSIVE');
      opened.migrate();
      return opened;
    } catch (error) {
      closeSync(owner);
      throw error;
    }
  }

  /** All of it or nothing. Nothing else runs meanwhile, since nothing here waits. */
  transaction<T>(work: () => T): T {
    this.database.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.database.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.database.inTransaction) this.database.exec('ROLLBACK');
      throw error;
    }
  }

  all(sql: string, values: readonly Value[] = []): Row[] {
    return this.database.all(sql, values.map(storable)) as Row[];
  }

  get(sql: string, values: readonly Value[] = []): Row | undefined {
    return (this.database.get(sql, values.map(storable)) as Row | null) ?? undefined;
  }

  /** Answers how many rows were changed. */
  run(sql: string, values: readonly Value[] = []): number {
    return this.database.run(sql, values.map(storable)).changes;
  }

  close(): void {
    this.database.close();
    closeSync(this.owner);
  }

  private migrate(): void {
    const version = Number(this.get('PRAGMA user_version')?.['user_version']);
    if (version > MIGRATIONS.length) throw new Error(`the database is of a newer version: ${version}`);
    for (const [i, migration] of MIGRATIONS.entries()) {
      if (i < version) continue;
      this.transaction(() => {
        this.database.exec(migration);
        this.database.exec(`PRAGMA user_version = ${i + 1}`);
      });
    }
  }
}

/** SQLite ends a text at U+0000. It becomes what HTML makes of it. */
function storable(value: Value): Value {
  return typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : value;
}

function removeLock(path: string): void {
  try {
    rmdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
