import { statSync } from 'node:fs';
import { join } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { Damage } from './damage.js';
import { Table, type Rows } from './table.js';

/** The environment's file in the data directory. */
export const DATA_FILE = 'data.mdb';

/** Whether there is anything in a data directory. Where there is none a store begins anew. */
export function hasData(directory: string): boolean {
  const file = statSync(join(directory, DATA_FILE), { throwIfNoEntry: false });
  return file !== undefined && file.size > 0;
}

const TABLE = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const;
/** The one row that carries no checksum, so that every version can read it. In `meta`. */
export const FORMAT = Buffer.from('format');
/** Of the tables below; a store of another version refuses the directory. */
export const FORMAT_VERSION = '2';
/** Closing waits for the last flush. After a commit that failed, the library would wait for one that never comes. */
const CLOSE_TIMEOUT_MS = { committed: 30_000, failed: 100 } as const;

/**
 * The LMDB environment of a data directory and its tables. `g` stands for the 8 bytes of a generation.
 *
 *   meta         name               format version, ends of the journal
 *   catalogue    filter name        description (JSON)
 *   states       g                  counts, record windows, queue numbers (state-codec.ts)
 *   journal      sequence number    cells that one mutation changed (journal.ts)
 *   blocks       g, block number    checkpointed cells (checkpoint.ts)
 *   blockCounts  g                  number of blocks ever written
 *   records      g, origin, window, verb, id    operation records (operation-records.ts)
 *   order        g, place           queue entries in the order of handing out (queue-rows.ts)
 *   entries      g, item hash       their places
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
  readonly entries: Table;
  readonly order: Table;
  readonly credentials: Table;
  private readonly root: RootDatabase<Buffer, Buffer>;
  private readonly unsealedMeta: Rows;
  private last: keyof typeof CLOSE_TIMEOUT_MS = 'committed';

  /**
   * Opens `directory`'s environment, making it if absent, unless it is only to be read. LMDB trusts the file: `damage` is
   * what a look at it found, to which is added what reads find later.
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
      ...TABLE,
      // Whole operations are our transactions. With batches by event turn a failed commit also rejects a promise
      // inside the library that nobody can handle, which would end the process.
      eventTurnBatching: false,
      separateFlushed: true,
      // Else a variable of the environment would decide which commit is read; the library's types lack it.
      ...{ safeRestore: false },
    });
    // The library's types have putSync return nothing; it tells whether it put.
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
    this.entries = table('entries');
    this.order = table('order');
    this.credentials = table('credentials');
  }

  /** Marks a new directory with the format version; throws if it has another one. */
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
    return [this.states, this.blocks, this.blockCounts, this.records, this.entries, this.order];
  }

  /**
   * Runs `change` inside a write transaction, alone, after all earlier ones; several share a commit. Resolves when
   * committed, with `flush` when on disk too. Rejects if `change` threw, or the commit failed: nothing of it is kept
   * then. That takes a transaction of its own inside the shared one, at about 3 µs.
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

  async close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_TIMEOUT_MS[this.last]);
    });
    await Promise.race([this.root.close(), timeout]);
    clearTimeout(timer);
  }
}

/** Why a directory of another version is refused. */
export function otherFormat(version: string): Error {
  return new Error(`the data directory has format ${version}; this version reads ${FORMAT_VERSION}`);
}

/** What the library rejects with when a commit fails: its cause comes as a promise that rejects with it. */
interface CommitFailure extends Error {
  readonly commitError: Promise<never>;
}

function isCommitFailure(error: unknown): error is CommitFailure {
  return error instanceof Error && 'commitError' in error;
}

async function causeOf(failure: CommitFailure): Promise<unknown> {
  return failure.commitError.catch((cause: unknown) => cause);
}
