import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Damage } from './damage.js';
import { walkDataFile } from '../data-file/data-walk.js';
import { DATA_FILE, FORMAT, FORMAT_VERSION, otherFormat } from './database.js';
import { DamagedRow, RowState, rowState, sealSeed } from './table.js';

const LOOKED_AT_WHEN_READ: ReadonlySet<string> = new Set(['log']);

/**
 * Checks all data in a directory before LMDB maps it, and trusts none of it. Returns the damaged rows. Throws if LMDB
 * would crash on the file, or if another version wrote it.
 *
 * `start`: skips the long rows of waiting entries, which may be most of the file. They are checked when read.
 */
export function inspectData(directory: string, { start = false } = {}): Damage {
  const damage = new Damage();
  const path = join(directory, DATA_FILE);
  if (!existsSync(path)) return damage;
  const seeds = new Map<string, number>();
  let format = FORMAT_VERSION;
  const visit = (table: string, key: Buffer, value: Buffer): void => {
    if (table === 'meta' && key.equals(FORMAT)) {
      format = value.toString();
      return;
    }
    let seed = seeds.get(table);
    if (seed === undefined) seeds.set(table, (seed = sealSeed(table)));
    const state = rowState(seed, key, value);
    if (state !== RowState.Whole) damage.add(new DamagedRow(table, Buffer.from(key), state));
  };
  walkDataFile(path, visit, start ? LOOKED_AT_WHEN_READ : undefined);
  if (format !== FORMAT_VERSION) throw otherFormat(format);
  return damage;
}
