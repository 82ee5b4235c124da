import type { ReadTransaction } from './environment.js';

/**
 * The data committed at one moment. LMDB keeps a snapshot's pages until it ends, so the file grows by the changes made
 * until then. Not for reads inside write transactions, which see their own state.
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
