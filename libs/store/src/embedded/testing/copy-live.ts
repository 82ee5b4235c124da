import { join } from 'node:path';
import { open } from 'lmdb';
import { DATA_FILE } from '../database/database.js';

/** The library has these methods, but its types don't. */
interface Environment {
  backup(path: string, compact: boolean): Promise<void>;
  close(): Promise<void>;
}

/** Copies an open store's directory as a crash would leave it, without the checkpoint that a close makes. */
export async function copyLive(dataDir: string, target: string): Promise<void> {
  const environment = open({ path: join(dataDir, DATA_FILE), noSubdir: true }) as unknown as Environment;
  await environment.backup(join(target, DATA_FILE), false);
  await environment.close();
}
