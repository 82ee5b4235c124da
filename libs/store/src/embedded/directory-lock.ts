import { closeSync, existsSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from 'fs-native-extensions';
import { DATA_FILE } from './database.js';

/** The second still holds when somebody takes the first for a stale lock and deletes it, as is often done. */
const LOCKED_FILES = ['lock', DATA_FILE];

/** LMDB's own lock file, which it maps into memory, and enough for what it keeps there. */
const MAPPED_FILE = `${DATA_FILE}-lock`;
const MAPPED_BYTES = 16_384;
const NEW_DATA_BYTES = 2 ** 20;

/** Makes LMDB's lock file at its full size: a write to a part that has no room on disk would end the process without a word. */
export function takeLockFile(directory: string): void {
  const file = join(directory, MAPPED_FILE);
  if (existsSync(file) && statSync(file).size >= MAPPED_BYTES) return;
  writeFileSync(file, Buffer.alloc(MAPPED_BYTES));
}

/** Room for the first pages of a new data file, without which LMDB ends the process. Throws ENOSPC and the like. */
export function assertRoomForNew(directory: string): void {
  if (statSync(join(directory, DATA_FILE)).size > 0) return;
  const file = join(directory, 'probe');
  try {
    writeFileSync(file, Buffer.alloc(NEW_DATA_BYTES));
  } finally {
    rmSync(file, { force: true });
  }
}

/**
 * Ownership of a data directory: the kernel's locks on open files in it. They end with the process that holds
 * them, however that dies, and hold between containers that share the directory, where process ids say nothing.
 */
export class DirectoryLock {
  private constructor(private fds: readonly number[]) {}

  /** Throws if the directory is taken, by this process or another. */
  static take(directory: string): DirectoryLock {
    const lock = new DirectoryLock([]);
    try {
      for (const name of LOCKED_FILES) lock.add(join(directory, name), directory);
      return lock;
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /** Makes the file if it is not there; an empty one is a new database to LMDB. */
  private add(file: string, directory: string): void {
    const fd = openSync(file, 'a');
    this.fds = [...this.fds, fd];
    if (!tryLock(fd)) {
      throw new Error(`the data directory ${directory} is in use by another store; one process owns it`);
    }
  }

  release(): void {
    for (const fd of this.fds) closeSync(fd);
    this.fds = [];
  }
}
