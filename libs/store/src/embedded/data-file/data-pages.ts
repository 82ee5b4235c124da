import { fstatSync, readSync } from 'node:fs';
import { DataFileError, PAGE_HEADER, readPageNumber, type Meta } from './data-file.js';

/** Kinds of pages: LMDB's flags. */
export const PageKind = { Branch: 1, Leaf: 2, Overflow: 4 } as const;
export type PageKind = (typeof PageKind)[keyof typeof PageKind];

/**
 * LMDB doesn't write free pages at the end of the file. If the meta page counts more than this many times the file's
 * pages, the file was truncated.
 */
const MOST_PAGES_FEWER = 64;

/** A data file's pages at one commit. Each page may be taken once. Throws DataFileError. */
export class DataPages {
  readonly pageSize: number;
  private readonly taken: Uint8Array;
  private readonly filePages: number;

  constructor(
    private readonly fd: number,
    private readonly meta: Meta,
  ) {
    this.pageSize = meta.pageSize;
    this.filePages = Math.floor(fstatSync(fd).size / meta.pageSize);
    if (meta.lastPage > MOST_PAGES_FEWER * this.filePages + MOST_PAGES_FEWER) {
      throw new DataFileError('it is truncated');
    }
    this.taken = new Uint8Array(meta.lastPage + 1);
  }

  /** The commit that wrote a page. Does not take the page. */
  commitOf(page: number): number {
    const header = Buffer.alloc(PAGE_HEADER);
    if (page < this.filePages) readSync(this.fd, header, 0, PAGE_HEADER, page * this.pageSize);
    if (page === 0 || readPageNumber(header, 0) !== page)
      throw new DataFileError(`page ${page} contains a different page`);
    return readPageNumber(header, 8);
  }

  /** Reads a branch or leaf page into `buffer`. */
  read(page: number, buffer: Buffer): PageKind {
    this.load(page, 1, buffer);
    const kind = buffer.readUInt16LE(18);
    if (kind !== PageKind.Branch && kind !== PageKind.Leaf)
      throw new DataFileError(`page ${page} has an unknown type`);
    return kind;
  }

  /** Reads the `count` pages of one long value into `buffer`, or only their first `bytes`. */
  readOverflow(page: number, count: number, buffer: Buffer, bytes = count * this.pageSize): void {
    this.load(page, count, buffer, bytes);
    if (buffer.readUInt16LE(18) !== PageKind.Overflow || buffer.readUInt32LE(20) !== count) {
      throw new DataFileError(`page ${page} is not the start of a long value`);
    }
  }

  /** Takes free pages. Their contents are unknown, and some of them may be beyond the end of the file. */
  takeFree(page: number, count: number): void {
    if (!(page > 1 && count > 0 && page + count - 1 <= this.meta.lastPage)) {
      throw new DataFileError(`page ${page} is on the list of free pages, but outside the data`);
    }
    for (let at = page; at < page + count; at++) this.take(at);
  }

  private load(page: number, count: number, buffer: Buffer, bytes = count * this.pageSize): void {
    if (!(page > 1 && count > 0 && page + count <= Math.min(this.filePages, this.taken.length))) {
      throw new DataFileError(`page ${page} is not in the file`);
    }
    for (let at = page; at < page + count; at++) this.take(at);
    if (readSync(this.fd, buffer, 0, bytes, page * this.pageSize) < bytes) {
      throw new DataFileError(`page ${page} is not readable`);
    }
    const commit = readPageNumber(buffer, 8);
    // LMDB would mistake a page of a later commit for one that it may write to.
    if (readPageNumber(buffer, 0) !== page || commit > this.meta.commit) {
      throw new DataFileError(`page ${page} contains a different page`);
    }
  }

  private take(page: number): void {
    if (this.taken[page] === 1) throw new DataFileError(`page ${page} is used twice`);
    this.taken[page] = 1;
  }
}
