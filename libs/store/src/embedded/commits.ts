import { StaleFilterError, StoreError } from '../errors.js';
import type { Database } from './database.js';
import { JOURNAL_LAST } from './journal.js';
import { readNumber } from './keys.js';
import type { Memory } from './memory.js';

/** A commit failed: what memory says of the change is no longer true. */
export class CommitError extends Error {
  constructor(cause: unknown) {
    super('a commit to the data directory failed', { cause });
    this.name = 'CommitError';
  }
}

/**
 * Changes of memory and database inside write transactions, and the commit that answers have to wait for. Memory is
 * ahead of the database until a commit; if that fails, it stays ahead, and this object is of no more use.
 */
export class Commits {
  /** A commit has failed. */
  failed = false;
  /** Settles with the commit of the last change that ran; undefined when all are committed. */
  private last: Promise<void> | undefined;
  private unfinished = 0;
  private idle: (() => void)[] = [];

  constructor(
    private readonly database: Database,
    private readonly memory: Memory,
    private readonly flush: boolean,
  ) {}

  /**
   * Runs `change` in a write transaction, alone; resolves with what it returned once that is committed. What it
   * throws is thrown, and means that nothing was changed; but for errors that are not the port's: after those, as
   * after a failed commit, a CommitError says that memory may have left the database behind.
   */
  async run<T>(change: () => T): Promise<T> {
    let outcome: { value: T } | { error: unknown } | undefined;
    this.unfinished++;
    const commit = this.database.transaction(() => {
      try {
        this.assertInStep();
        this.last = commit;
        outcome = { value: change() };
      } catch (error) {
        outcome = { error };
      }
    }, this.flush);
    try {
      await commit;
      if (outcome && 'value' in outcome) return outcome.value;
      throw outcome?.error;
    } catch (error) {
      if (error instanceof StoreError || error instanceof StaleFilterError) throw error;
      this.failed = true;
      throw new CommitError(error);
    } finally {
      if (this.last === commit) this.last = undefined;
      if (--this.unfinished === 0) for (const resolve of this.idle.splice(0)) resolve();
    }
  }

  /** Resolves when all that memory says now is committed; rejects with a CommitError if it never will be. */
  async committed(): Promise<void> {
    try {
      await this.last;
    } catch (error) {
      throw new CommitError(error);
    }
  }

  /** Resolves when no change is under way. */
  async settled(): Promise<void> {
    if (this.unfinished > 0) await new Promise<void>((resolve) => this.idle.push(resolve));
  }

  /**
   * An earlier commit may have failed without this process having been told yet. Then the database lacks the last
   * change that memory has, and nothing may build on it.
   */
  private assertInStep(): void {
    if (this.failed) throw new Error('an earlier commit failed');
    const last = this.database.meta.get(JOURNAL_LAST);
    if ((last ? readNumber(last) : 0) === this.memory.sequence) return;
    this.failed = true;
    throw new Error('memory is ahead of the database');
  }
}
