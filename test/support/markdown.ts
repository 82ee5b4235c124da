import { readFileSync } from 'node:fs';

/** The rows of every table in a document whose first column has this heading, as cells without enclosing backticks. */
export function rowsOf(file: string, firstColumn: string): string[][] {
  const rows: string[][] = [];
  let inTable = false;
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (!line.startsWith('|')) inTable = false;
    else if (inTable) rows.push(cellsOf(line));
    else inTable = cellsOf(line)[0] === firstColumn;
  }
  // Each table head is followed by a row of dashes.
  return rows.filter(([first = '']) => !/^-+$/.test(first));
}

function cellsOf(line: string): string[] {
  const inner = line.trim().slice(1, -1).split('|');
  return inner.map((cell) => cell.trim().replace(/^`([^`]*)`$/, '$1'));
}
