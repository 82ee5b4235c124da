import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { rowsOf } from './markdown.js';

const PAGE = 'docs/performance.md';
const UNITS: Readonly<Record<string, number>> = { kB: 1e3, MB: 1e6 };
/** The sizes depend only on the sources, except for a few bytes of compression. The page's figures are rounded. */
const TOLERANCE = 0.1;

/** Compares bytes with a row of the table of sizes, in its second or third column. */
export function expectDocumentedSize(row: string, column: 'download' | 'disk', bytes: number): void {
  const cells = rowsOf(PAGE, 'size of').find(([name]) => name === row);
  const cell = cells?.[column === 'download' ? 1 : 2] ?? '';
  const [, value, unit = ''] = /^([\d.]+) (kB|MB)\b/.exec(cell) ?? [];
  const documented = Number(value) * (UNITS[unit] ?? NaN);
  if (!(Math.abs(bytes / documented - 1) <= TOLERANCE))
    throw new Error(
      `${PAGE} says that the size of ${row} is "${cell}" (${column}), but it is ${bytes} bytes`,
    );
}

/** The bytes of all files below a folder, or of one file. */
export function bytesBelow(path: string, isCounted: (path: string) => boolean = () => true): number {
  if (!isCounted(path)) return 0;
  const entry = lstatSync(path);
  if (!entry.isDirectory()) return entry.size;
  return readdirSync(path).reduce((sum, name) => sum + bytesBelow(join(path, name), isCounted), 0);
}
