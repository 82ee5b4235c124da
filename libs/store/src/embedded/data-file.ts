import { closeSync, existsSync, fstatSync, ftruncateSync, openSync, readSync } from 'node:fs';

/** Offsets in an LMDB meta page, of which a file begins with two. */
const MAGIC_AT = 24;
const PAGE_SIZE_AT = 48;
const LAST_PAGE_AT = 144;
const MAGIC = 0xbeefc0de;

/**
 * Looks at the database's file before LMDB maps it into memory, where what is no such file, or the end of one that
 * was cut short, would end the process without a word. Throws if it is no data file. One that is shorter than its
 * pages gets its length back: what was lost reads as zeros, which the loading of filters notices; and LMDB itself
 * may leave the last pages unwritten.
 */
export function prepareDataFile(path: string): void {
  if (!existsSync(path)) return;
  const fd = openSync(path, 'r+');
  try {
    const { size } = fstatSync(fd);
    if (size === 0) return;
    const first = readMeta(fd, 0);
    const second = first && readMeta(fd, first.pageSize);
    if (!first || !second) {
      throw new Error(`${path} is no data file, or its beginning is damaged: restore a copy of it`);
    }
    const whole = (Math.max(first.lastPage, second.lastPage) + 1) * first.pageSize;
    if (size < whole) ftruncateSync(fd, whole);
  } finally {
    closeSync(fd);
  }
}

function readMeta(fd: number, at: number): { pageSize: number; lastPage: number } | undefined {
  const page = Buffer.alloc(LAST_PAGE_AT + 8);
  if (readSync(fd, page, 0, page.length, at) < page.length) return undefined;
  if (page.readUInt32LE(MAGIC_AT) !== MAGIC) return undefined;
  return { pageSize: page.readUInt32LE(PAGE_SIZE_AT), lastPage: Number(page.readBigUInt64LE(LAST_PAGE_AT)) };
}
