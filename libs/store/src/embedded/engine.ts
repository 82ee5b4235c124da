import { mkdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { StoreError } from '../errors.js';
import { checkpoint, checkpointDue, IDLE_SLICE_BLOCKS } from './checkpoint.js';
import { CommitError } from './commits.js';
import { Database } from './database.js';
import { DirectoryLock } from './directory-lock.js';
import type { Memory } from './memory.js';
import { Session, type SessionOptions } from './session.js';

/** With less space than this on the disk, a commit that failed did so for lack of it. */
const MIN_FREE_BYTES = 16 * 2 ** 20;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 10_000;

/**
 * Owner of a data directory. Runs mutations and reads on the session, and after a failed commit, when memory is
 * ahead of the database, loads a new one exactly as at the start.
 */
export class Engine {
  private session: Session | undefined;
  private loading: Promise<Session> | undefined;
  private failures = 0;
  private retryAt = 0;
  private diskFull = false;
  private checkpointing: Promise<void> | undefined;
  private calls = 0;
  private idle: (() => void) | undefined;
  private closed: Promise<void> | undefined;

  private constructor(
    private readonly directory: string,
    private readonly lock: DirectoryLock,
    private readonly database: Database,
    private readonly options: SessionOptions,
  ) {}

  static async open(directory: string, options: SessionOptions): Promise<Engine> {
    mkdirSync(directory, { recursive: true });
    const lock = DirectoryLock.take(directory);
    let database: Database | undefined;
    try {
      database = new Database(directory);
      await database.checkFormat();
      const engine = new Engine(directory, lock, database, options);
      engine.session = await Session.load(database, options);
      return engine;
    } catch (cause) {
      await database?.close();
      lock.release();
      throw new Error(`the data directory ${directory} cannot be opened: ${String(cause)}`, { cause });
    }
  }

  /** Runs `change` in a transaction; resolves when it is committed. `grows`: refused while the disk is full. */
  async mutate<T>(change: (session: Session) => T, grows = false): Promise<T> {
    return this.call(async (session) => {
      if (grows && this.diskFull) await this.assertSpace();
      const answer = await session.commits.run(() => change(session));
      this.failures = 0;
      this.considerCheckpoint(session);
      return answer;
    });
  }

  /** Answers what `look` finds in memory, once that is committed. */
  async read<T>(look: (memory: Memory, now: number) => T): Promise<T> {
    return this.call(async (session) => {
      const answer = look(session.memory, session.now);
      await session.commits.committed();
      return answer;
    });
  }

  /** Refuses new calls, waits for those under way, checkpoints, and lets go of the directory. Idempotent. */
  close(): Promise<void> {
    this.closed ??= this.shutDown();
    return this.closed;
  }

  private async call<T>(use: (session: Session) => Promise<T>): Promise<T> {
    if (this.closed) throw new StoreError('STORE_UNAVAILABLE', 'the store is closed');
    this.calls++;
    try {
      const usable = this.session && !this.session.commits.failed;
      return await use(usable ? (this.session as Session) : await this.reload());
    } catch (error) {
      // A refusal needs no commit: a caller that tries again at once must not keep the event loop to itself.
      await setImmediate();
      throw error instanceof CommitError ? await this.unavailable(error) : error;
    } finally {
      if (--this.calls === 0) this.idle?.();
    }
  }

  private async unavailable(error: CommitError): Promise<StoreError> {
    this.diskFull = (await this.freeBytes()) < MIN_FREE_BYTES;
    return this.diskFull
      ? new StoreError('STORE_FULL', 'the disk of the data directory is full', { cause: error })
      : new StoreError('STORE_UNAVAILABLE', error.message, { cause: error });
  }

  private async assertSpace(): Promise<void> {
    this.diskFull = (await this.freeBytes()) < MIN_FREE_BYTES;
    if (this.diskFull) throw new StoreError('STORE_FULL', 'the disk of the data directory is full');
  }

  private async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.directory);
    return bavail * bsize;
  }

  /** One at a time, and not again before a pause that doubles while no commit succeeds. */
  private reload(): Promise<Session> {
    if (!this.loading) {
      if (performance.now() < this.retryAt) {
        throw new StoreError('STORE_UNAVAILABLE', 'the last write to the data directory failed');
      }
      this.retryAt = performance.now() + Math.min(FIRST_RETRY_MS * 2 ** this.failures++, LAST_RETRY_MS);
      this.loading = this.loadAnew().finally(() => {
        this.loading = undefined;
      });
    }
    return this.loading;
  }

  private async loadAnew(): Promise<Session> {
    const old = this.session;
    await old?.purger.stop();
    await this.checkpointing;
    await old?.commits.settled();
    // Let go of the old cells before the new ones are made.
    this.session = undefined;
    try {
      this.session = await Session.load(this.database, this.options);
      return this.session;
    } catch (cause) {
      throw new StoreError('STORE_UNAVAILABLE', 'the data directory could not be loaded anew', { cause });
    }
  }

  private considerCheckpoint(session: Session): void {
    if (this.checkpointing || !checkpointDue(session.memory, this.options.checkpointBytes)) return;
    // A commit that fails shows at the next call.
    this.checkpointing = checkpoint(this.database, session.commits, session.memory)
      .catch(() => undefined)
      .finally(() => {
        this.checkpointing = undefined;
      });
  }

  private async shutDown(): Promise<void> {
    if (this.calls > 0) await new Promise<void>((resolve) => (this.idle = resolve));
    const { session } = this;
    await session?.purger.stop();
    await this.checkpointing;
    if (session && !session.commits.failed) {
      // Only the next start would be slower without it: the journal has everything.
      const { commits, memory } = session;
      await checkpoint(this.database, commits, memory, IDLE_SLICE_BLOCKS).catch(() => undefined);
    }
    await this.database.close();
    this.lock.release();
  }
}
