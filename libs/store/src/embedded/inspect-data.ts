import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Damage } from './damage.js';
import { walkDataFile } from './data-walk.js';
import { DATA_FILE, FORMAT, FORMAT_VERSION, otherFormat } from './database.js';
import { DamagedRow, RowState, rowState, sealSeed } from './table.js';

/**
 * Reads all data of a directory before LMDB maps it, by code that trusts nothing in it. Answers which rows are not as
 * they were written. Throws if LMDB would not survive the file, or another version wrote it.
 */
export function inspectData(directory: string): Damage {
  const damage = new Damage();
  const path = join(directory, DATA_FILE);
  if (!existsSync(path)) return damage;
  const seeds = new Map<string, number>();
  let format = FORMAT_VERSION;
  walkDataFile(path, (table, key, value) => {
    if (table === 'meta' && key.equals(FORMAT)) {
      format = value.toString();
      return;
    }
    let seed = seeds.get(table);
    if (seed === undefined) seeds.set(table, (seed = sealSeed(table)));
    const state = rowState(seed, key, value);
    if (state !== RowState.Whole) damage.add(new DamagedRow(table, Buffer.from(key), state));
  });
  if (format !== FORMAT_VERSION) throw otherFormat(format);
  return damage;
}
