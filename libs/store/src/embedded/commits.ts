import { StaleFilterError, StoreError } from '../errors.js';
import type { Database } from './database.js';
import { JOURNAL_LAST } from './journal.js';
import { readNumber } from './keys.js';
import type { Memory } from './memory.js';
import { Portions } from './portions.js';
import { DamagedRow } from './table.js';

/** A commit failed, or a change broke off: what memory says of the change is not true. */
export class CommitError extends Error {
  constructor(cause: unknown) {
    super('a commit to the data directory failed', { cause });
    this.name = 'CommitError';
  }
}

/** A change that failed before it changed anything: nobody else is concerned. A defect. */
export class UnchangedError extends Error {
  constructor(cause: unknown) {
    super('the answer of a change cannot be recorded', { cause });
    this.name = 'UnchangedError';
  }
}

/**
 * Changes of memory and database inside write transactions, and the commit that answers have to wait for. Memory is
 * ahead of the database until a commit; if that fails, it stays ahead, and this object is of no more use.
 */
export class Commits {
  /** A commit has failed, or a change broke off half way. */
  failed = false;
  /** Settles with the commit of the last change that ran; undefined when all are committed. */
  private last: Promise<void> | undefined;
  private unfinished = 0;
  private readonly portions = new Portions();
  private idle: (() => void)[] = [];

  constructor(
    private readonly database: Database,
    private readonly memory: Memory,
    private readonly flush: boolean,
  ) {}

  /**
   * Runs `change` in a write transaction, alone; resolves with what it returned once that is committed. What it
   * throws is thrown, and nothing of it is kept in the database; errors of the port and UnchangedError mean that nothing
   * was changed in memory either. After any other, as after a failed commit, a CommitError says that memory has left the database.
   * `items`: how much work it is.
   */
  async run<T>(change: () => T, items = 1): Promise<T> {
    const outcome: { value?: T } = {};
    this.unfinished++;
    const leave = await this.portions.enter(items);
    const commit = this.database.transaction(() => {
      leave();
      try {
        this.assertInStep();
        outcome.value = change();
        this.last = commit;
      } catch (error) {
        // At once: the next change of the same commit may be about to run.
        if (!isRefusal(error)) this.failed = true;
        if (error instanceof DamagedRow) this.database.damage.add(error);
        throw error;
      }
    }, this.flush);
    try {
      await commit;
      return outcome.value as T;
    } catch (error) {
      if (isRefusal(error)) throw error;
      this.failed = true;
      throw new CommitError(error);
    } finally {
      // A transaction can also fail without having run.
      leave();
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
    if ((last ? readNumber(last) : 0) !== this.memory.sequence)
      throw new Error('memory is ahead of the database');
  }
}

/** What is thrown before anything is changed: the port's errors, and UnchangedError. */
function isRefusal(error: unknown): boolean {
  return error instanceof StoreError || error instanceof StaleFilterError || error instanceof UnchangedError;
}
