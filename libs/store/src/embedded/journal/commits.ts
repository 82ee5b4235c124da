import { StaleFilterError, StoreError } from '../../errors.js';
import type { Database } from '../database/database.js';
import { JOURNAL_LAST } from './journal.js';
import { readNumber } from '../database/keys.js';
import type { Filter, SyncOutcome } from '../../port/index.js';
import type { Memory } from '../filters/memory.js';
import { Portions } from './portions.js';
import { DamagedRow } from '../database/table.js';

/** A commit failed, or a change failed halfway, so memory no longer agrees with the database. */
export class CommitError extends Error {
  constructor(cause: unknown) {
    super('a commit to the data directory failed', { cause });
    this.name = 'CommitError';
  }
}

/** A change failed before it changed anything, so no other call is affected. This is a bug. */
export class UnchangedError extends Error {
  constructor(cause: unknown) {
    super("a change's answer can't be recorded", { cause });
    this.name = 'UnchangedError';
  }
}

/**
 * Runs changes of memory and database in write transactions, and reports when they are committed. Until a commit,
 * memory is ahead of the database. If the commit fails, it stays ahead, and this object must be replaced.
 */
export class Commits {
  /** A commit has failed, or a change failed halfway. */
  failed = false;
  /** True if the cause was a damaged row. */
  damaged = false;
  /** Settles when the last change that ran is committed or fails. Undefined when all are committed. */
  private last: Promise<void> | undefined;
  private unfinished = 0;
  private readonly portions: Portions;
  private idle: (() => void)[] = [];

  constructor(
    private readonly database: Database,
    private readonly memory: Memory,
    private readonly flush: boolean,
    /** Called after the commit, with the sets whose hosts got a turn. */
    private readonly onTurns: (filter: Filter) => void = () => undefined,
    /** Called after the commit, for each sync that ended. */
    private readonly onSyncEnd: (outcome: SyncOutcome) => void = () => undefined,
  ) {
    this.portions = new Portions(database.sizes.itemsPerTurn);
  }

  /**
   * Runs `change` alone in a write transaction, and resolves with its result once that is committed. If `change`
   * throws, rethrows the error, and the database keeps none of the change. Port errors and UnchangedError also
   * guarantee that memory is unchanged. Any other error, or a failed commit, becomes a CommitError, because memory no
   * longer agrees with the database. `items` is the amount of work.
   */
  async run<T>(change: () => T, items = 1): Promise<T> {
    const outcome: {
      value?: T;
      observed?: Promise<void> | undefined;
      turns?: Filter[];
      endedSyncs?: SyncOutcome[];
    } = {};
    this.unfinished++;
    const leave = await this.portions.enter(items);
    const commit = this.database.transaction(() => {
      leave();
      try {
        this.assertInStep();
        outcome.observed = this.last;
        this.memory.gotTurns.clear();
        this.memory.endedSyncs = [];
        outcome.value = change();
        outcome.turns = [...this.memory.gotTurns];
        outcome.endedSyncs = this.memory.endedSyncs;
        this.last = commit;
      } catch (error) {
        // Set here and not later, because the next change in the same commit may be about to run.
        if (!isRefusal(error)) this.failed = true;
        if (error instanceof DamagedRow) this.spoil(error);
        throw error;
      }
    }, this.flush);
    try {
      await commit;
      outcome.turns?.forEach(this.onTurns);
      outcome.endedSyncs?.forEach(this.onSyncEnd);
      return outcome.value as T;
    } catch (error) {
      if (isRefusal(error)) {
        // The refusal may depend on a change that isn't committed yet.
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

  /** Notes that a damaged row was read, so memory must be reloaded without its filter. */
  spoil(row: DamagedRow): void {
    this.failed = true;
    this.damaged = true;
    this.database.damage.add(row);
  }

  /** True if everything in memory is committed. */
  get areDone(): boolean {
    return this.last === undefined && !this.failed;
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
   * Throws if the database lacks the last change in memory. An earlier commit may have failed without this process
   * knowing yet, and no change may build on a change that was lost.
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

/** True for errors that are thrown before any change: port errors and UnchangedError. */
function isRefusal(error: unknown): boolean {
  return error instanceof StoreError || error instanceof StaleFilterError || error instanceof UnchangedError;
}
