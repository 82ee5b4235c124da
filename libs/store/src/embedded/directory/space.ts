import { open, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.js';
import { StoreError } from '../../errors.js';
import { DATA_FILE } from '../database/database.js';

/** If a commit fails with less free space than this, blame lack of space. */
const MIN_FREE_BYTES = 16 * 2 ** 20;
/** A file that is written and deleted to test whether the data may grow. */
const PROBE_FILE = 'probe';
const PROBE_BYTES = 2 ** 20;
/** Errors from a full disk, a user's quota, or the process's limit on file sizes. */
const LACKING: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
/** How long the result of a check stays valid, in ms. */
const RECHECK_MS = 500;

/** Checks of the disk with the data. */
export interface Disk {
  freeBytes(): Promise<number>;
  /** True if writing at the end of the data fails for lack of space. */
  refuses(): Promise<boolean>;
}

/** Whether the disk has room for the data to grow, as of the last check. */
export class Space {
  private lacking = false;
  /** Monotonic time. */
  private checkedAt = 0;
  /** A check in progress. All calls that need one share it. */
  private recheck: Promise<boolean> | undefined;

  constructor(
    private readonly disk: Disk,
    private readonly clock: Clock,
  ) {}

  /** True if the disk has no room for the data to grow. Call it when a commit has failed. */
  async isLacking(): Promise<boolean> {
    this.lacking = (await this.isLow()) || (await this.disk.refuses());
    this.checkedAt = this.clock.monotonic();
    return this.lacking;
  }

  /** Throws STORE_FULL if the last check found no room. Checks again first if that result is stale. */
  async assert(): Promise<void> {
    if (!this.lacking) return;
    const recent = this.clock.monotonic() - this.checkedAt < RECHECK_MS;
    if (!recent) this.recheck ??= this.isLacking().finally(() => (this.recheck = undefined));
    if (recent || (await this.recheck))
      throw new StoreError('STORE_FULL', "the data directory's disk is full");
  }

  /** True if so little space is free that it explains a failed write. */
  async isLow(): Promise<boolean> {
    return (await this.disk.freeBytes()) < MIN_FREE_BYTES;
  }
}

/**
 * A data directory's disk. LMDB doesn't say why a commit failed: if the system writes only a part, as it does at a
 * limit, LMDB reports EIO. So this class tries a write to find out.
 */
export class DirectoryDisk implements Disk {
  constructor(private readonly directory: string) {}

  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.directory);
    return bavail * bsize;
  }

  /** Writes to another file, at the offset where the data file would grow, so that the same limits apply. */
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
