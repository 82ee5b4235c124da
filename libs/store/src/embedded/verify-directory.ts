import { SYSTEM_CLOCK } from '../clock.js';
import type { FilterKind } from '../port/index.js';
import { DataFileError } from './data-file/data-file.js';
import { Database, DATA_FILE, hasData } from './database/database.js';
import { takeLockFile, DirectoryLock } from './directory/directory-lock.js';
import { inspectData } from './database/inspect-data.js';
import { loadMemory } from './engine/load.js';
import { DamagedRow } from './database/table.js';

export interface VerifiedFilter {
  readonly name: string;
  readonly kind: FilterKind;
  /** False if part of the filter is missing or damaged. Calls on such a filter fail with STORE_DATA_LOST. */
  readonly whole: boolean;
}

export interface VerifiedDirectory {
  readonly filters: readonly VerifiedFilter[];
  /** Why no store would start on the directory. If set, we can't tell which filters exist. */
  readonly refusal?: string;
}

/**
 * Reads all data in a directory as a start does, and returns each filter's state. LMDB opens the data file read-only,
 * and only the lock files beside it are written. Throws if another store owns the directory, another version wrote it,
 * or it contains no data.
 */
export async function verifyDirectory(directory: string): Promise<VerifiedDirectory> {
  if (!hasData(directory)) throw new Error(`${DATA_FILE} is missing or empty`);
  const lock = DirectoryLock.take(directory);
  try {
    takeLockFile(directory);
    return { filters: await readFilters(directory) };
  } catch (error) {
    if (error instanceof DataFileError || error instanceof DamagedRow) {
      return { filters: [], refusal: error.message };
    }
    throw error;
  } finally {
    lock.release();
  }
}

async function readFilters(directory: string): Promise<VerifiedFilter[]> {
  const database = Database.open(directory, inspectData(directory), { readOnly: true });
  try {
    const { filters } = loadMemory(database, SYSTEM_CLOCK);
    return Array.from(filters.values(), ({ filter: { name, kind }, lost }) => ({ name, kind, whole: !lost }));
  } finally {
    await database.close();
  }
}
