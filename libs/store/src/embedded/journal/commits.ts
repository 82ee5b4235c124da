import { StaleFilterError, StoreError } from '../../errors.js';
import type { Database } from '../database/database.js';
import { JOURNAL_LAST } from './journal.js';
import { readNumber } from '../database/keys.js';
import type { Filter } from '../../port/index.js';
import type { Memory } from '../filters/memory.js';
import { Portions } from './portions.js';
import { DamagedRow } from '../database/table.js';

/** A commit failed, or a change failed halfway: memory no longer agrees with the database. */
export class CommitError extends Error {
  constructor(cause: unknown) {
    super('a commit to the data directory failed', { cause });
    this.name = 'CommitError';
  }
}

/** A change failed before it changed anything, so no other call is affected. This is a defect. */
export class UnchangedError extends Error {
  constructor(cause: unknown) {
    super("a change's answer can't be recorded", { cause });
    this.name = 'UnchangedError';
  }
}

/**
 * Runs changes of memory and database inside write transactions, and reports when they are committed. Memory is ahead
 * of the database until a commit. If the commit fails, memory stays ahead, and this object must be replaced.
 */
export class Commits {
  /** A commit has failed, or a change failed halfway. */
  failed = false;
  /** The cause was a damaged row. */
  damaged = false;
  /** Settles with the commit of the last change that ran; undefined when all are committed. */
  private last: Promise<void> | undefined;
  private unfinished = 0;
  private readonly portions: Portions;
  private idle: (() => void)[] = [];

  constructor(
    private readonly database: Database,
    private readonly memory: Memory,
    private readonly flush: boolean,
    /** Gets the sets with hosts that got a turn, after the commit. */
    private readonly onTurns: (filter: Filter) => void = () => undefined,
  ) {
    this.portions = new Portions(database.sizes.itemsPerTurn);
  }

  /**
   * Runs `change` alone in a write transaction, and resolves with its result once that is committed. If `change`
   * throws, the error is rethrown and the database keeps nothing of the change. Errors of the port and UnchangedError
   * mean that memory was not changed either. Any other error, and a failed commit, becomes a CommitError: memory no
   * longer agrees with the database. `items` is the amount of work.
   */
  async run<T>(change: () => T, items = 1): Promise<T> {
    const outcome: { value?: T; observed?: Promise<void> | undefined; turns?: Filter[] } = {};
    this.unfinished++;
    const leave = await this.portions.enter(items);
    const commit = this.database.transaction(() => {
      leave();
      try {
        this.assertInStep();
        outcome.observed = this.last;
        this.memory.gotTurns.clear();
        outcome.value = change();
        outcome.turns = [...this.memory.gotTurns];
        this.last = commit;
      } catch (error) {
        // Set immediately, because the next change of the same commit may be about to run.
        if (!isRefusal(error)) this.failed = true;
        if (error instanceof DamagedRow) this.spoil(error);
        throw error;
      }
    }, this.flush);
    try {
      await commit;
      outcome.turns?.forEach(this.onTurns);
      return outcome.value as T;
    } catch (error) {
      if (isRefusal(error)) {
        // The refusal may depend on a change that is not committed yet.
        await committed(outcome.observed);
        throw error;
      }
      this.failed = true;
      throw new CommitError(error);
    } finally {
      // A transaction can also fail before it runs.
      leave();
      if (this.last === commit) this.last = undefined;
      if (--this.unfinished === 0) for (const resolve of this.idle.splice(0)) resolve();
    }
  }

  /** Notes a damaged row that was read: memory must be reloaded without the filter that it concerns. */
  spoil(row: DamagedRow): void {
    this.failed = true;
    this.damaged = true;
    this.database.damage.add(row);
  }

  /** Resolves when everything in memory is committed. Rejects with a CommitError if it never will be. */
  committed(): Promise<void> {
    return committed(this.last);
  }

  /** Resolves when no change is in progress. */
  async settled(): Promise<void> {
    if (this.unfinished > 0) await new Promise<void>((resolve) => this.idle.push(resolve));
  }

  /**
   * Throws if the database lacks the last change in memory: an earlier commit may have failed although this process has
   * not been told yet. No change may build on such a change.
   */
  private assertInStep(): void {
    if (this.failed) throw new Error('an earlier commit failed');
    const last = this.database.meta.get(JOURNAL_LAST);
    if ((last ? readNumber(last) : 0) !== this.memory.sequence)
      throw new Error('memory is ahead of the database');
  }
}

async function committed(change: Promise<void> | undefined): Promise<void> {
  try {
    await change;
  } catch (error) {
    throw new CommitError(error);
  }
}

/** True if the error was thrown before any change: an error of the port, or UnchangedError. */
function isRefusal(error: unknown): boolean {
  return error instanceof StoreError || error instanceof StaleFilterError || error instanceof UnchangedError;
}
