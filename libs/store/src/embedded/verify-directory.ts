import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { FilterKind } from '../store.js';
import { Database, DATA_FILE } from './database.js';
import { DirectoryLock } from './directory-lock.js';
import { inspectData } from './inspect-data.js';
import { loadMemory } from './load.js';

export interface VerifiedFilter {
  readonly name: string;
  readonly kind: FilterKind;
  /** False: part of it is missing or damaged, so that a store answers STORE_DATA_LOST for it. */
  readonly whole: boolean;
}

/**
 * Reads everything in a data directory as a start does, and answers what a store would find; no row is changed. Throws
 * if no store would start on it, another store owns it, or there is nothing in it.
 */
export async function verifyDirectory(directory: string): Promise<VerifiedFilter[]> {
  if (!existsSync(join(directory, DATA_FILE))) throw new Error(`there is no ${DATA_FILE} in ${directory}`);
  const lock = DirectoryLock.take(directory);
  try {
    const database = new Database(directory, inspectData(directory));
    try {
      const { filters } = loadMemory(database, Date.now());
      return Array.from(filters.values(), ({ filter: { name, kind }, lost }) => ({
        name,
        kind,
        whole: !lost,
      }));
    } finally {
      await database.close();
    }
  } finally {
    lock.release();
  }
}
