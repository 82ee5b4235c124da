import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Damage } from './damage.js';
import { walkDataFile } from '../data-file/data-walk.js';
import { DATA_FILE, FORMAT, FORMAT_VERSION, otherFormat } from './database.js';
import { DamagedRow, RowState, rowState, sealSeed } from './table.js';

const LOOKED_AT_WHEN_READ: ReadonlySet<string> = new Set(['log']);

/**
 * Reads all of a directory's data, before LMDB maps it, by code that trusts nothing in it, and answers which rows are not
 * as they were written. Throws if LMDB would not survive the file, or another version wrote it. At a start, what waits in queues,
 * which may be most of the file, is left to be looked at when it is read.
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
