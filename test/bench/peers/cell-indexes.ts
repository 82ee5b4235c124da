import { hash } from 'node:crypto';
import { ERROR_RATE } from './contender.js';

/** The textbook m and k: the fewest cells for the number of items. */
export interface ClassicFilter {
  readonly cells: number;
  readonly hashes: number;
}

export function classicFilter(capacity: number): ClassicFilter {
  const cells = Math.ceil((-capacity * Math.log(ERROR_RATE)) / Math.LN2 ** 2);
  return { cells, hashes: Math.round((cells / capacity) * Math.LN2) };
}

/** An item's k cells, as combinations of two words from its SHA-1. */
export function cellIndexes(item: string, { cells, hashes }: ClassicFilter): number[] {
  const digest = hash('sha1', item, 'buffer');
  const step = digest.readUInt32LE(4) | 1;
  let word = digest.readUInt32LE(0);
  return Array.from({ length: hashes }, () => {
    const cell = word % cells;
    word = (word + step) >>> 0;
    return cell;
  });
}
