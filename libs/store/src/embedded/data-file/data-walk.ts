import { closeSync, openSync } from 'node:fs';
import { DataFileError, readMetas, readTree, TREE_BYTES, type Meta, type Tree } from './data-file.js';
import { DataPages } from './data-pages.js';
import { DataTree } from './data-tree.js';

/** Flags for a table whose keys LMDB compares byte by byte. */
const PLAIN = 0;

/**
 * Visits every row of a data file, table by table in key order, after checking everything that LMDB relies on. Key and
 * value are valid until the next row. A new file has no rows. In `skimmed` tables, it neither reads nor visits long
 * values. Throws DataFileError if LMDB would crash on the file or misread it.
 */
export function walkDataFile(
  path: string,
  visit: (table: string, key: Buffer, value: Buffer) => void,
  skimmed: ReadonlySet<string> = new Set(),
): void {
  const fd = openSync(path, 'r');
  try {
    const found = readMetas(fd);
    if (!found) return;
    const { chosen, metas } = found;
    const pages = new DataPages(fd, chosen);
    for (const meta of metas) assertOfItsCommit(pages, meta, chosen);
    new DataTree(pages, compareNumbers, (_, value) => takeFreePages(pages, value)).walk(chosen.free);
    for (const [name, tree] of tablesOf(pages, chosen.main)) {
      const visitRow = (key: Buffer, value: Buffer): void => visit(name, key, value);
      new DataTree(pages, compareBytes, visitRow, skimmed.has(name)).walk(tree);
    }
  } finally {
    closeSync(fd);
  }
}

/**
 * Every commit writes the main tree's root, so a meta page is damaged if its commit is older than its root. The
 * exception is commits that a power failure has undone. When LMDB goes back to a commit, it writes that commit into
 * both meta pages, under its own number and the previous one. A later commit's root may be missing from the file.
 */
function assertOfItsCommit(pages: DataPages, { main, commit }: Meta, chosen: Meta): void {
  const undone = commit > chosen.commit || (commit < chosen.commit && main.root === chosen.main.root);
  if (main.root !== undefined && !undone && pages.commitOf(main.root) > commit) {
    throw new DataFileError('a meta page is older than its root');
  }
}

function tablesOf(pages: DataPages, main: Tree): Map<string, Tree> {
  const tables = new Map<string, Tree>();
  const visit = (key: Buffer, value: Buffer, isTree: boolean): void => {
    if (!isTree || value.length !== TREE_BYTES) throw new DataFileError('a table is not readable');
    const tree = readTree(value, 0);
    if (tree.flags !== PLAIN) throw new DataFileError('a table is not readable');
    // The library ends table names with a zero byte.
    tables.set(key.toString('latin1').replace(/\0$/, ''), tree);
  };
  if (main.flags !== PLAIN) throw new DataFileError('a meta page is not readable');
  new DataTree(pages, compareBytes, visit).walk(main);
  return tables;
}

/**
 * Takes the pages listed in one row of the free tree. The row begins with a count of the numbers that follow. A single
 * page appears as its number, a run of pages as its negative length and then its first page. Zeros may come in between.
 */
function takeFreePages(pages: DataPages, value: Buffer): void {
  const broken = new DataFileError('the list of free pages is not readable');
  if (value.length < 8 || value.length % 8 !== 0) throw broken;
  const count = Number(value.readBigInt64LE(0));
  if (count < 0 || count > value.length / 8 - 1) throw broken;
  for (let i = 1; i <= count; i++) {
    const entry = Number(value.readBigInt64LE(8 * i));
    if (entry > 0) pages.takeFree(entry, 1);
    else if (entry < 0) {
      if (++i > value.length / 8 - 1) throw broken;
      pages.takeFree(Number(value.readBigInt64LE(8 * i)), -entry);
    }
  }
}

function compareBytes(a: Buffer, b: Buffer): number {
  return a.compare(b);
}

function compareNumbers(a: Buffer, b: Buffer): number {
  if (a.length !== 8 || b.length !== 8) throw new DataFileError('the list of free pages is not readable');
  const difference = a.readBigUInt64LE() - b.readBigUInt64LE();
  return difference < 0n ? -1 : Number(difference > 0n);
}
