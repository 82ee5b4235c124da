import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from 'fs-native-extensions';

/**
 * Ownership of a data directory: a lock of the kernel's on an open file in it. It ends with the process that holds
 * it, however that dies, and holds between containers that share the directory, where process ids say nothing.
 */
export class DirectoryLock {
  private constructor(private fd: number | undefined) {}

  /** Throws if the directory is taken, by this process or another. */
  static take(directory: string): DirectoryLock {
    const fd = openSync(join(directory, 'lock'), 'a');
    let locked = false;
    try {
      locked = tryLock(fd);
    } finally {
      if (!locked) closeSync(fd);
    }
    if (!locked) {
      throw new Error(`the data directory ${directory} is in use by another store; one process owns it`);
    }
    return new DirectoryLock(fd);
  }

  release(): void {
    if (this.fd !== undefined) closeSync(this.fd);
    this.fd = undefined;
  }
}
