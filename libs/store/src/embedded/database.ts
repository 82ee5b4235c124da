import { statSync } from 'node:fs';
import { join } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { Damage } from './damage.js';
import { Snapshot } from './snapshot.js';
import { Table, type Rows } from './table.js';

/** The environment's file in the data directory. */
export const DATA_FILE = 'data.mdb';

/** Whether a data directory has any data. A store starts empty where there is none. */
export function hasData(directory: string): boolean {
  const file = statSync(join(directory, DATA_FILE), { throwIfNoEntry: false });
  return file !== undefined && file.size > 0;
}

const TABLE = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const;
/** The one row of `meta` that carries no checksum, so that every version can read it. */
export const FORMAT = Buffer.from('format');
/** Of the tables below; a store of another version refuses the directory. */
export const FORMAT_VERSION = '7';
/** LMDB wants to know: there is room for one or two more. */
const MAX_TABLES = 18;
/** Closing waits for the last flush. After a commit that failed, the library would wait for one that never comes. */
const CLOSE_TIMEOUT_MS = { committed: 30_000, failed: 100 } as const;

/**
 * The LMDB environment of a data directory and its tables. `g` stands for the 8 bytes of a generation.
 *
 *   meta         name               format version, ends of the journal
 *   catalogue    filter name        description (JSON)
 *   states       g                  counts, record windows, queue numbers (state-codec.ts)
 *   journal      sequence number    cells that one mutation changed (journal.ts)
 *   blocks       g, layer, block    checkpointed cells (checkpoint.ts)
 *   blockCounts  g                  number of blocks ever written
 *   records      g, origin, window, verb, id    operation records (operation-records.ts)
 *   log          g, row             queue entries in line (queue/log.ts)
 *   leases       g, lease, portion  those that leases hold (queue/leases.ts)
 *   due          g, time, kind, number    ends of leases, and entries that are delayed (queue/due.ts)
 *   dead         g, number          dead letters (queue/dead-letters.ts)
 *   marks        g, row             what was forgotten (queue/marks.ts)
 *   removed      g, list, row       removals during a sync (sync/removals.ts)
 *   hidden       g, list, epoch, hash    what was forgotten while its cells stay live (hidden-rows.ts)
 *   credentials  id                 what is kept of a credential
 *
 * Every value is followed by checksums (table.ts).
 */
export class Database {
  readonly meta: Table;
  readonly catalogue: Table;
  readonly states: Table;
  readonly journal: Table;
  readonly blocks: Table;
  readonly blockCounts: Table;
  readonly records: Table;
  readonly log: Table;
  readonly leases: Table;
  readonly due: Table;
  readonly dead: Table;
  readonly marks: Table;
  readonly removed: Table;
  readonly hidden: Table;
  readonly credentials: Table;
  private readonly root: RootDatabase<Buffer, Buffer>;
  private readonly unsealedMeta: Rows;
  private readonly snapshots = new Set<Snapshot>();
  private last: keyof typeof CLOSE_TIMEOUT_MS = 'committed';

  /**
   * Opens the environment of `directory`. Makes it if absent, unless it is opened for reading only. LMDB trusts the
   * file, so the caller inspects it first: `damage` is what that found, and later reads add to it.
   */
  constructor(
    directory: string,
    readonly damage = new Damage(),
    { readOnly = false } = {},
  ) {
    this.root = open({
      path: join(directory, DATA_FILE),
      noSubdir: true,
      readOnly,
      maxDbs: MAX_TABLES,
      ...TABLE,
      // Each operation is one transaction of ours. With batching by event turn, a failed commit would also reject a
      // promise inside the library that nobody can handle, which would end the process.
      eventTurnBatching: false,
      separateFlushed: true,
      // Otherwise an environment variable would decide which commit is read. The library's types lack this option.
      ...{ safeRestore: false },
    });
    // The library's types say that putSync returns nothing; it returns whether it put the row.
    const rows = (name: string): Rows =>
      this.root.openDB<Buffer, Buffer>({ name, ...TABLE }) as unknown as Rows;
    const table = (name: string): Table => new Table(name, rows(name));
    this.unsealedMeta = rows('meta');
    this.meta = table('meta');
    this.catalogue = table('catalogue');
    this.states = table('states');
    this.journal = table('journal');
    this.blocks = table('blocks');
    this.blockCounts = table('block-counts');
    this.records = table('records');
    this.log = table('log');
    this.leases = table('leases');
    this.due = table('due');
    this.dead = table('dead');
    this.marks = table('marks');
    this.removed = table('removed');
    this.hidden = table('hidden');
    this.credentials = table('credentials');
  }

  /** Writes the format version into a new directory. Throws if the directory has another version. */
  async checkFormat(): Promise<void> {
    const version = this.unsealedMeta.get(FORMAT)?.toString();
    if (version === undefined) {
      await this.transaction(() => void this.unsealedMeta.putSync(FORMAT, Buffer.from(FORMAT_VERSION)), true);
    } else if (version !== FORMAT_VERSION) {
      throw otherFormat(version);
    }
  }

  /** The tables whose keys begin with a generation. */
  get tablesByGeneration(): Table[] {
    const queue = [this.log, this.leases, this.due, this.dead, this.marks, this.removed];
    return [this.states, this.blocks, this.blockCounts, this.records, this.hidden, ...queue];
  }

  /**
   * Runs `change` alone inside a write transaction, after all earlier ones; several transactions share a commit.
   * Resolves when it is committed, with `flush` when it is on disk too. Rejects if `change` threw or the commit failed;
   * then nothing of it is stored. Each change is a nested transaction inside the shared one, which costs about 3 µs.
   */
  async transaction(change: () => void, flush: boolean): Promise<void> {
    const committed = this.root.childTransaction(change);
    const flushed = flush ? Promise.resolve(this.root.flushed) : undefined;
    try {
      await committed;
      this.last = 'committed';
    } catch (error) {
      if (!isCommitFailure(error)) throw error;
      this.last = 'failed';
      throw await causeOf(error);
    }
    await flushed;
  }

  /** The database as it is committed now, to be read outside of transactions until it is ended. */
  snapshot(): Snapshot {
    const snapshot = new Snapshot(this.root, () => this.snapshots.delete(snapshot));
    this.snapshots.add(snapshot);
    return snapshot;
  }

  async close(): Promise<void> {
    for (const snapshot of this.snapshots) snapshot.end();
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_TIMEOUT_MS[this.last]);
    });
    await Promise.race([this.root.close(), timeout]);
    clearTimeout(timer);
  }
}

/** The error for a directory of another version. */
export function otherFormat(version: string): Error {
  return new Error(`the data directory has format ${version}; this version reads ${FORMAT_VERSION}`);
}

/** The error that the library rejects with when a commit fails. Its cause is a promise that rejects with it. */
interface CommitFailure extends Error {
  readonly commitError: Promise<never>;
}

function isCommitFailure(error: unknown): error is CommitFailure {
  return error instanceof Error && 'commitError' in error;
}

async function causeOf(failure: CommitFailure): Promise<unknown> {
  return failure.commitError.catch((cause: unknown) => cause);
}
