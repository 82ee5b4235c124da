import { open, type RootDatabase } from 'lmdb';
import type { Environment, ReadTransaction, Rows } from './environment.js';

const TABLE = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const;
/** LMDB needs this limit in advance. Leaves room for a few more tables. */
const MAX_TABLES = 18;
/** How long closing waits for the last flush. After a failed commit, the library would wait forever. */
const CLOSE_TIMEOUT_MS = { committed: 30_000, failed: 100 } as const;

/** An LMDB environment in a file. */
export class LmdbEnvironment implements Environment {
  private readonly root: RootDatabase<Buffer, Buffer>;
  private last: keyof typeof CLOSE_TIMEOUT_MS = 'committed';

  /** Creates the file if absent, unless `readOnly`. LMDB trusts the file, so inspect it first. */
  constructor(path: string, { readOnly = false } = {}) {
    this.root = open({
      path,
      noSubdir: true,
      readOnly,
      maxDbs: MAX_TABLES,
      ...TABLE,
      // Makes each operation of the library one of our transactions. If the library batched them by event turn, a
      // failed commit would also reject a promise that nothing handles. That would crash the process.
      eventTurnBatching: false,
      separateFlushed: true,
      // Otherwise, an environment variable decides which commit LMDB reads. The library's types don't have this option.
      ...{ safeRestore: false },
    });
  }

  rows(name: string): Rows {
    // The library's types say that putSync returns nothing, but it returns whether it put the row.
    return this.root.openDB<Buffer, Buffer>({ name, ...TABLE }) as unknown as Rows;
  }

  /** Each change is a nested transaction inside the shared one, which costs about 3 µs. */
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

  read(): ReadTransaction {
    // Otherwise, the library reuses the transaction of earlier reads in this turn of the event loop.
    this.root.resetReadTxn();
    return this.root.useReadTransaction();
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

/** The library's error for a failed commit. `commitError` rejects with the cause. */
interface CommitFailure extends Error {
  readonly commitError: Promise<never>;
}

function isCommitFailure(error: unknown): error is CommitFailure {
  return error instanceof Error && 'commitError' in error;
}

async function causeOf(failure: CommitFailure): Promise<unknown> {
  return failure.commitError.catch((cause: unknown) => cause);
}
