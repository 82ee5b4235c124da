import type { RootDatabase, Transaction } from 'lmdb';

/**
 * What was committed at a moment, however long it is read. LMDB keeps the pages that it needs, so that the file grows by what
 * is changed meanwhile. Of no use inside of write transactions, which read their own state.
 */
export class Snapshot {
  private current: Transaction | undefined;

  constructor(
    root: RootDatabase<Buffer, Buffer>,
    private readonly onEnd: () => void,
  ) {
    // The library goes on with the transaction of earlier reads in this turn of the event loop.
    root.resetReadTxn();
    this.current = root.useReadTransaction();
  }

  get transaction(): Transaction {
    if (!this.current) throw new Error('the snapshot has ended');
    return this.current;
  }

  /** Idempotent. */
  end(): void {
    this.current?.done();
    this.current = undefined;
    this.onEnd();
  }
}
