import { join } from 'node:path';
import { open } from 'lmdb';

const TABLES = [
  'states',
  'blocks',
  'block-counts',
  'records',
  'log',
  'leases',
  'due',
  'dead',
  'marks',
  'removed',
  'hidden',
];
const GENERATION_BYTES = 8;

/** All generations with data in a directory, in hexadecimal, sorted, including those missing from the catalogue. */
export async function generationsIn(dataDir: string): Promise<string[]> {
  const root = open({ path: join(dataDir, 'data.mdb'), noSubdir: true, readOnly: true });
  const found = new Set<string>();
  for (const name of TABLES) {
    const table = root.openDB<Buffer, Buffer>({ name, encoding: 'binary', keyEncoding: 'binary' });
    for (const key of table.getKeys()) found.add(key.toString('hex', 0, GENERATION_BYTES));
  }
  await root.close();
  return [...found].sort();
}
