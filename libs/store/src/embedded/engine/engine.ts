import { setImmediate } from 'node:timers/promises';
import { type Clock, deadlineIn } from '../../clock.js';
import { StoreError } from '../../errors.js';
import { checkpoint, checkpointDue } from '../journal/checkpoint.js';
import { CommitError } from '../journal/commits.js';
import { Database } from '../database/database.js';
import { assertInTime, byDeadline } from './deadline.js';
import { assertRoomForNew, takeLockFile, DirectoryLock } from '../directory/directory-lock.js';
import { inspectData } from '../database/inspect-data.js';
import { numberKey } from '../database/keys.js';
import { makePrivateDirectory } from '../../make-directory.js';
import type { Filter } from '../../port/index.js';
import type { Memory } from '../filters/memory.js';
import type { Sizes } from '../database/sizes.js';
import { Session, type SessionOptions } from './session.js';
import { DirectoryDisk, Space, type Disk } from '../directory/space.js';
import { DamagedRow } from '../database/table.js';

/** The row that a test write puts in the table `meta`. */
const PROBE = Buffer.from('probe');
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 10_000;
/** How long a read without a deadline waits until the changes that it saw are committed, in ms. */
const READ_MS = 10_000;

/** Options of a change. */
export interface MutationOptions {
  /** True if the change needs disk space. The engine refuses it while the disk is full. */
  readonly grows?: boolean;
  /**
   * Milliseconds since the epoch. A change doesn't start after its deadline, but one that started earlier may still be
   * committed.
   */
  readonly deadline?: number;
  /** Amount of work, in items. */
  readonly items?: number;
}

/** The resources that an engine owns. */
export interface Place {
  readonly database: Database;
  /** The disk with the database. */
  readonly disk: Disk;
  readonly lock: Pick<DirectoryLock, 'release'>;
}

/**
 * The owner of a data directory. It runs mutations and reads on a session. A failed commit leaves memory ahead of the
 * database, so the engine loads a new session, exactly as at the start. Reads continue immediately. Mutations wait for
 * a pause, which doubles while no commit succeeds, to avoid constant reloads.
 */
export class Engine {
  private session: Session | undefined;
  private loading: Promise<Session> | undefined;
  private failures = 0;
  /** The last write failed. Reads may continue. */
  private writesFail = false;
  /** Mutations are refused until this monotonic time. */
  private retryAt = 0;
  private readonly database: Database;
  private readonly space: Space;
  private checkpointing: Promise<void> | undefined;
  private calls = 0;
  private idle: (() => void) | undefined;
  private closed: Promise<void> | undefined;

  private constructor(
    private readonly place: Place,
    private readonly options: SessionOptions,
  ) {
    this.database = place.database;
    this.space = new Space(place.disk, options.clock);
  }

  /** Creates an engine on a place whose data file has been inspected. */
  static async on(place: Place, options: SessionOptions): Promise<Engine> {
    await place.database.checkFormat();
    const engine = new Engine(place, options);
    engine.session = await Session.load(place.database, options);
    return engine;
  }

  static async open(directory: string, options: SessionOptions): Promise<Engine> {
    makePrivateDirectory(directory);
    const lock = DirectoryLock.take(directory);
    let database: Database | undefined;
    try {
      takeLockFile(directory);
      assertRoomForNew(directory);
      database = Database.open(directory, inspectData(directory, { start: true }));
      return await Engine.on({ database, disk: new DirectoryDisk(directory), lock }, options);
    } catch (cause) {
      await database?.close();
      lock.release();
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`the data directory ${directory} cannot be opened: ${reason}`, { cause });
    }
  }

  get sizes(): Sizes {
    return this.database.sizes;
  }

  get clock(): Clock {
    return this.options.clock;
  }

  /**
   * Runs `change` in a transaction, and resolves with its result once it is committed. Throws STORE_UNAVAILABLE after
   * the deadline.
   */
  async mutate<T>(change: (session: Session) => T, options: MutationOptions = {}): Promise<T> {
    const { grows = false, deadline = Infinity, items = 1 } = options;
    const work = this.call(async () => {
      this.assertNotPausing();
      if (grows) await this.space.assert();
      const session = await this.current();
      const answer = await session.commits.run(() => {
        assertInTime(deadline);
        return change(session);
      }, items);
      this.failures = 0;
      this.writesFail = false;
      this.considerCheckpoint(session);
      return answer;
    });
    return byDeadline(deadline, work);
  }

  /**
   * Resolves once all entries that the filter's last committed sync has voided are removed. If a failed commit
   * interrupts the removal, waits for the next removal. Throws STORE_UNAVAILABLE at the deadline, or if changes fail,
   * but the removal continues.
   */
  async unkeptRemoved(filter: Filter, deadline = Infinity): Promise<void> {
    for (;;) {
      const { removed } = await this.mutate(
        ({ memory, sweeper }) => {
          const state = memory.current(filter);
          return { removed: state.queue.unkeptUntil > 0 ? sweeper.removeUnkept(state) : undefined };
        },
        { deadline },
      );
      if (!removed) return;
      await byDeadline(deadline, removed);
    }
  }

  /**
   * Resolves with the result of `look` once all changes that it may have seen are committed. Throws STORE_UNAVAILABLE
   * after the deadline.
   */
  read<T>(
    look: (memory: Memory, now: number, database: Database) => T,
    deadline = deadlineIn(READ_MS),
  ): Promise<T> {
    const { session } = this;
    // A read that waits for nothing needs no timer, which would cost more than a small read.
    if (session?.commits.areDone) return this.call(() => look(session.memory, session.now, this.database));
    const work = this.call(async () => {
      const session = await this.current();
      try {
        return look(session.memory, session.now, this.database);
      } finally {
        // Even an error may depend on a change that isn't committed yet, so wait for that too.
        await session.commits.committed();
      }
    });
    return byDeadline(deadline, work);
  }

  /**
   * Throws the error that a write would get now. If the last write failed, makes a test write, to notice a recovery
   * even without traffic.
   */
  async assertWritable(): Promise<void> {
    if (!this.writesFail) return;
    await this.mutate(({ database, now }) => void database.meta.putSync(PROBE, numberKey(now)), {
      grows: true,
    });
  }

  /** Warnings for the operator about the disk. */
  async warnings(): Promise<string[]> {
    return (await this.space.isLow()) ? ["the data directory's disk is almost full"] : [];
  }

  /** Refuses new calls, waits for those in progress, checkpoints, and releases the directory. Idempotent. */
  close(): Promise<void> {
    this.closed ??= this.shutDown();
    return this.closed;
  }

  private async call<T>(work: () => Promise<T> | T): Promise<T> {
    if (this.closed) throw new StoreError('STORE_UNAVAILABLE', 'the store is closed');
    this.calls++;
    try {
      return await work();
    } catch (error) {
      // If everything is committed, the refusal comes at once. Without this pause, a caller that retries immediately
      // would block the event loop.
      await setImmediate();
      if (error instanceof DamagedRow) {
        this.session?.commits.spoil(error);
        throw lost(error);
      }
      if (!(error instanceof CommitError)) throw error;
      throw error.cause instanceof DamagedRow ? lost(error.cause) : await this.unavailable(error);
    } finally {
      if (--this.calls === 0) this.idle?.();
    }
  }

  private async unavailable(error: CommitError): Promise<StoreError> {
    this.writesFail = true;
    return (await this.space.isLacking())
      ? new StoreError('STORE_FULL', "the data directory's disk is full", { cause: error })
      : new StoreError('STORE_UNAVAILABLE', error.message, { cause: error });
  }

  private assertNotPausing(): void {
    if (this.options.clock.monotonic() < this.retryAt) {
      throw new StoreError(
        'STORE_UNAVAILABLE',
        'the last write to the data directory failed; the store retries soon',
      );
    }
  }

  /** The session. After a failed commit, one call reloads it and the others wait. */
  private async current(): Promise<Session> {
    if (this.session && !this.session.commits.failed) return this.session;
    if (!this.loading) {
      // No session: the last load failed.
      if (!this.session) this.assertNotPausing();
      // Damage is not a disk failure and affects no other filter, so it causes no pause.
      if (!this.session?.commits.damaged) {
        const pause = Math.min(FIRST_RETRY_MS * 2 ** this.failures++, LAST_RETRY_MS);
        this.retryAt = this.options.clock.monotonic() + pause;
      }
      this.loading = this.loadAnew().finally(() => {
        this.loading = undefined;
      });
    }
    return this.loading;
  }

  private async loadAnew(): Promise<Session> {
    const old = this.session;
    await old?.sweeper.stop();
    await old?.purger.stop();
    await this.checkpointing;
    await old?.commits.settled();
    // Free the old cells before new ones are allocated.
    this.session = undefined;
    try {
      this.session = await Session.load(this.database, this.options);
      return this.session;
    } catch (cause) {
      if (cause instanceof DamagedRow) this.database.damage.add(cause);
      throw new StoreError('STORE_UNAVAILABLE', 'the data directory could not be reloaded', { cause });
    }
  }

  private considerCheckpoint(session: Session): void {
    if (this.checkpointing || !checkpointDue(session.memory, this.options.checkpointBytes)) return;
    // If a commit fails, the next call reports it.
    this.checkpointing = checkpoint(this.database, session.commits, session.memory)
      .catch(() => undefined)
      .finally(() => {
        this.checkpointing = undefined;
      });
  }

  private async shutDown(): Promise<void> {
    if (this.calls > 0) await new Promise<void>((resolve) => (this.idle = resolve));
    const { session } = this;
    await session?.sweeper.stop();
    await session?.purger.stop();
    await this.checkpointing;
    if (session && !session.commits.failed) {
      // The checkpoint may fail: the journal has every change, so only the next start is slower.
      const { commits, memory } = session;
      const { blocksPerIdleSlice } = this.database.sizes;
      await checkpoint(this.database, commits, memory, blocksPerIdleSlice).catch(() => undefined);
    }
    await this.database.close();
    this.place.lock.release();
  }
}

/** The error for a damaged row. It doesn't name the filter, but the next call on the filter does. */
function lost(cause: DamagedRow): StoreError {
  return new StoreError('STORE_DATA_LOST', `${cause.message}; restore, clear or delete its filter`, {
    cause,
  });
}
