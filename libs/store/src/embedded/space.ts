import { open, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { StoreError } from '../errors.js';
import { DATA_FILE } from './database.js';

/** With less space than this on the disk, a commit that failed did so for lack of it. */
const MIN_FREE_BYTES = 16 * 2 ** 20;
/** Written and deleted to find out whether the data may grow. */
const PROBE_FILE = 'probe';
const PROBE_BYTES = 2 ** 20;
/** The disk, the user's quota, or the process's limit on the size of a file. */
const LACKING: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
/** How long an answer is relied on. */
const RECHECK_MS = 500;

/**
 * Room on the disk of the data directory. Why a commit failed LMDB does not tell: of a write cut short, as the first one
 * beyond a limit is, it says no more than EIO. So it is tried out.
 */
export class Space {
  private lacking = false;
  /** By performance.now(). */
  private checkedAt = 0;

  constructor(private readonly directory: string) {}

  /** To be called when a commit has failed: whether there is no room for the data to grow. */
  async isLacking(): Promise<boolean> {
    this.checkedAt = performance.now();
    this.lacking = (await this.isLow()) || (await this.probeFails());
    return this.lacking;
  }

  /** STORE_FULL if there was no room, and is none yet. */
  async assert(): Promise<void> {
    if (!this.lacking) return;
    const recent = performance.now() - this.checkedAt < RECHECK_MS;
    if (recent || (await this.isLacking()))
      throw new StoreError('STORE_FULL', 'the disk of the data directory is full');
  }

  /** There is so little room that a write that fails now would fail for lack of it. */
  async isLow(): Promise<boolean> {
    return (await this.freeBytes()) < MIN_FREE_BYTES;
  }

  private async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.directory);
    return bavail * bsize;
  }

  /** Where the data file would grow, but in a file of its own: the limits are the same. */
  private async probeFails(): Promise<boolean> {
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
