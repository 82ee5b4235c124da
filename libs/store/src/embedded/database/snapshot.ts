import type { ReadTransaction } from './environment.js';

/**
 * What was committed at a moment, however long it is read. LMDB keeps the pages that it needs, so that the file grows by what
 * is changed meanwhile. Of no use inside of write transactions, which read their own state.
 */
export class Snapshot {
  private current: ReadTransaction | undefined;

  constructor(
    transaction: ReadTransaction,
    private readonly onEnd: () => void,
  ) {
    this.current = transaction;
  }

  get transaction(): ReadTransaction {
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
