import { closeSync, mkdirSync, openSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from 'fs-native-extensions';
import sqlite from 'node-sqlite3-wasm';

export type Row = Readonly<Record<string, string | number | null>>;
type Value = string | number | null;

/** Each entry upgrades the database by one version. Only an entry's comments may change later. */
const MIGRATIONS = [
  `CREATE TABLE articles (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     url TEXT NOT NULL UNIQUE,
     title TEXT NOT NULL,
     body TEXT NOT NULL,
     origin TEXT NOT NULL CHECK (origin IN ('upload', 'crawl')),
     -- How many times it was stored.
     version INTEGER NOT NULL DEFAULT 1,
     taken_at INTEGER NOT NULL,
     -- The article is stale after this time: the next sync forgets its URL.
     live_until INTEGER NOT NULL,
     -- 1 if the answer to its URL was "new": the set stores the URL for this article and must forget it with the
     -- article.
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
   -- Pending messages to the visited set, in order.
   CREATE TABLE outbox (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     key TEXT NOT NULL,
     url TEXT NOT NULL,
     -- Set for a visit. A message without an upload forgets the URL.
     upload TEXT REFERENCES uploads (id),
     first_sent_at INTEGER
   );
   CREATE INDEX outbox_by_url ON outbox (url);
   -- Notes about the visited set: its generation, and the key of a sync in progress.
   CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT NOT NULL);`,
];

/**
 * An SQLite database that one process owns. The library locks by creating a folder, which a killed process leaves
 * behind. So a kernel lock decides who owns the database, because the kernel releases it when the process ends.
 */
export class Database {
  private constructor(
    private readonly database: InstanceType<typeof sqlite.Database>,
    /** The locked file. */
    private readonly owner: number,
  ) {}

  /** Throws an Error if another process has opened the folder. */
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

  /** Executes everything or nothing. No other code runs in between, because `work` is synchronous. */
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

  /** Returns the number of changed rows. */
  run(sql: string, values: readonly Value[] = []): number {
    return this.database.run(sql, values.map(storable)).changes;
  }

  close(): void {
    this.database.close();
    closeSync(this.owner);
  }

  private migrate(): void {
    const version = Number(this.get('PRAGMA user_version')?.['user_version']);
    if (version > MIGRATIONS.length)
      throw new Error(
        `the database has version ${version}; this program supports versions up to ${MIGRATIONS.length}`,
      );
    for (const [i, migration] of MIGRATIONS.entries()) {
      if (i < version) continue;
      this.transaction(() => {
        this.database.exec(migration);
        this.database.exec(`PRAGMA user_version = ${i + 1}`);
      });
    }
  }
}

/** Replaces U+0000, at which SQLite ends a text, with U+FFFD, as in HTML. */
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
