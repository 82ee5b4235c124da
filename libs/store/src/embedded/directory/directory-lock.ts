import { closeSync, existsSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from 'fs-native-extensions';
import { DATA_FILE } from '../database/database.js';

/**
 * People often delete the first file because they take it for a stale lock. The lock on the second file still works.
 */
const LOCKED_FILES = ['lock', DATA_FILE];

/** LMDB's own lock file, which it maps into memory, and a size that is enough for it. */
const MAPPED_FILE = `${DATA_FILE}-lock`;
const MAPPED_BYTES = 16_384;
const NEW_DATA_BYTES = 2 ** 20;

/**
 * Creates LMDB's lock file at its full size. On a full disk, writing to an unallocated part of it would silently kill
 * the process.
 */
export function takeLockFile(directory: string): void {
  const file = join(directory, MAPPED_FILE);
  if (existsSync(file) && statSync(file).size >= MAPPED_BYTES) return;
  writeFileSync(file, Buffer.alloc(MAPPED_BYTES));
}

/**
 * Checks that the disk has room for a new data file's first pages. If it hasn't, LMDB would kill the process. Throws
 * ENOSPC and similar errors.
 */
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
 * Ownership of a data directory, through kernel locks on open files in it. The locks end with the process, even if it
 * is killed. They also work between containers that share the directory, where process ids mean nothing.
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

  /** Creates the file if it is missing. LMDB treats an empty file as a new database. */
  private add(file: string, directory: string): void {
    const fd = openSync(file, 'a');
    this.fds = [...this.fds, fd];
    if (!tryLock(fd)) {
      throw new Error(
        `the data directory ${directory} is in use by another store; stop the process that uses it`,
      );
    }
  }

  release(): void {
    for (const fd of this.fds) closeSync(fd);
    this.fds = [];
  }
}
