import { open, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.js';
import { StoreError } from '../../errors.js';
import { DATA_FILE } from '../database/database.js';

/** If a commit fails with less free space than this, the lack of space is taken for the cause. */
const MIN_FREE_BYTES = 16 * 2 ** 20;
/** A file that is written and deleted to find out whether the data may grow. */
const PROBE_FILE = 'probe';
const PROBE_BYTES = 2 ** 20;
/** Errors for a full disk, a quota of the user, or the process's limit on the size of a file. */
const LACKING: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
/** For how long an answer is relied on. */
const RECHECK_MS = 500;

/** What can be found out about the disk that the data is on. */
export interface Disk {
  freeBytes(): Promise<number>;
  /** Whether a write where the data would grow fails for lack of room. */
  refuses(): Promise<boolean>;
}

/** Room for the data on its disk, as far as it is known. */
export class Space {
  private lacking = false;
  /** By the monotonic clock. */
  private checkedAt = 0;
  /** A look for room that calls wait for. */
  private recheck: Promise<boolean> | undefined;

  constructor(
    private readonly disk: Disk,
    private readonly clock: Clock,
  ) {}

  /** Whether there is no room for the data to grow. To be called when a commit has failed. */
  async isLacking(): Promise<boolean> {
    this.lacking = (await this.isLow()) || (await this.disk.refuses());
    this.checkedAt = this.clock.monotonic();
    return this.lacking;
  }

  /** Throws STORE_FULL if there was no room, and still is none. */
  async assert(): Promise<void> {
    if (!this.lacking) return;
    const recent = this.clock.monotonic() - this.checkedAt < RECHECK_MS;
    if (!recent) this.recheck ??= this.isLacking().finally(() => (this.recheck = undefined));
    if (recent || (await this.recheck))
      throw new StoreError('STORE_FULL', 'the disk of the data directory is full');
  }

  /** Whether there is so little room that a write that fails now would fail for lack of it. */
  async isLow(): Promise<boolean> {
    return (await this.disk.freeBytes()) < MIN_FREE_BYTES;
  }
}

/**
 * The disk of a data directory. LMDB does not tell why a commit failed: for a write that was cut short, as the first one
 * beyond a limit is, it reports only EIO. So this class tries a write of its own.
 */
export class DirectoryDisk implements Disk {
  constructor(private readonly directory: string) {}

  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.directory);
    return bavail * bsize;
  }

  /** Writes at the offset where the data file would grow, but in another file: the same limits apply. */
  async refuses(): Promise<boolean> {
    const path = join(this.directory, PROBE_FILE);
    try {
      const { size } = await stat(join(this.directory, DATA_FILE));
      const file = await open(path, 'w');
      try {
        const { bytesWritten } = await file.write(Buffer.alloc(PROBE_BYTES), 0, PROBE_BYTES, size);
        return bytesWritten < PROBE_BYTES;
      } finally {
        await file.close();
        await rm(path, { force: true });
      }
    } catch (error) {
      return error instanceof Error && 'code' in error && LACKING.has(error.code);
    }
  }
}
