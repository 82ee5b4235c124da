import { join } from 'node:path';
import { open, type Database as LmdbTable, type RootDatabase } from 'lmdb';

export type Table = LmdbTable<Buffer, Buffer>;

const TABLE = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const;
/** After a failed commit the library may wait for ever for a flush that will not come. */
const CLOSE_TIMEOUT_MS = 5_000;

/**
 * The LMDB environment of a data directory and its tables. `g` stands for the 8 bytes of a generation.
 *
 *   meta         name               format version, first sequence number of the journal
 *   catalogue    filter name        description (JSON)
 *   states       g                  counts, record windows, queue numbers (state-codec.ts)
 *   journal      sequence number    cells that one mutation changed (journal.ts)
 *   blocks       g, block number    checkpointed cells (checkpoint.ts)
 *   blockCounts  g                  number of blocks ever written
 *   records      g, origin, window, verb, id    operation records (operation-records.ts)
 *   entries      g, item hash       queue entries (todo-queue.ts)
 *   order        g, state, time, sequence       item hash, in the order of handing out
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
  private readonly root: RootDatabase<Buffer, Buffer>;

  /** Opens `directory`'s environment, making it if absent. */
  constructor(directory: string) {
    this.root = open({
      path: join(directory, 'data.mdb'),
      noSubdir: true,
      ...TABLE,
      // Whole operations are our transactions. With batches by event turn a failed commit also rejects a promise
      // inside the library that nobody can handle, which would end the process.
      eventTurnBatching: false,
      separateFlushed: true,
    });
    const table = (name: string): Table => this.root.openDB<Buffer, Buffer>({ name, ...TABLE });
    this.meta = table('meta');
    this.catalogue = table('catalogue');
    this.states = table('states');
    this.journal = table('journal');
    this.blocks = table('blocks');
    this.blockCounts = table('block-counts');
    this.records = table('records');
    this.entries = table('entries');
    this.order = table('order');
  }

  /** The tables whose keys begin with a generation. */
  get tablesByGeneration(): Table[] {
    return [this.states, this.blocks, this.blockCounts, this.records, this.entries, this.order];
  }

  /**
   * Runs `change` inside a write transaction, alone, after all earlier ones; several share a commit. Resolves when
   * committed, with `flush` when on disk too. Rejects if the commit failed: nothing of it is kept then. What
   * `change` put before throwing would be kept: it must not throw.
   */
  async transaction(change: () => void, flush: boolean): Promise<void> {
    const committed = this.root.transaction(change);
    const flushed = flush ? Promise.resolve(this.root.flushed) : undefined;
    try {
      await committed;
    } catch (error) {
      throw await commitError(error);
    }
    await flushed;
  }

  /** Writes a consistent copy of the last committed state, as a crash now would leave it. */
  async copyTo(directory: string): Promise<void> {
    await (this.root as BackedUp).backup(join(directory, 'data.mdb'), false);
  }

  async close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
    });
    await Promise.race([this.root.close(), timeout]);
    clearTimeout(timer);
  }
}

/** The library has it, its types do not. */
interface BackedUp {
  backup(path: string, compact: boolean): Promise<void>;
}

/** The library hands out the cause of a failed commit as a promise that rejects with it. */
async function commitError(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error;
  try {
    await error.commitError;
  } catch (cause) {
    return cause;
  }
  return error;
}
