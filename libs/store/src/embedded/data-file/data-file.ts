import { existsSync, fstatSync, readFileSync, readSync } from 'node:fs';

/**
 * The parts of LMDB's file layout that are needed to check a data file. All numbers are read as little-endian: LMDB
 * uses the machine's byte order, and this service doesn't run on big-endian machines.
 *
 * A meta page says where a commit's trees begin. Commit n writes meta page n mod 2. The second half of page 0 is the
 * meta page of the last commit that was flushed to disk.
 */

/** Bytes of every page's header: number (8), commit (8), padding (2), kind (2), bounds or length (4). */
export const PAGE_HEADER = 24;

const META = {
  kind: 18,
  magic: 24,
  version: 28,
  mapSize: 40,
  freeTree: 48,
  mainTree: 96,
  last: 144,
  commit: 152,
  boot: 160,
};
const META_BYTES = 168;
const MAGIC = 0xbeefc0de;
/** Flag in a page's kind: this is a meta page. */
const IS_META = 0x08;
const VERSION = 2;
/** Flags of a meta page: the keys of the free tree are integers, and the environment is a single file. */
const FREE_FLAGS = 0x4008;
/** Flag of a meta page: its commit had not been flushed when the page was written. */
const UNFLUSHED = 0x1000;
const NO_PAGE = 0xffff_ffff_ffff_ffffn;
/** A larger map is never real, but LMDB would try to create it. */
const MAX_MAP_BYTES = 2 ** 44;
const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** Thrown if LMDB must not open the data file, or if the extent of its damage is unknown. */
export class DataFileError extends Error {
  constructor(what: string) {
    super(
      `data.mdb is damaged (${what}): restore a copy of the directory, or start with an empty DATA_DIR and import exports`,
    );
    this.name = 'DataFileError';
  }
}

/** A tree's description, from a meta page or a row of the main tree. */
export interface Tree {
  readonly flags: number;
  readonly depth: number;
  readonly branchPages: number;
  readonly leafPages: number;
  readonly overflowPages: number;
  readonly entries: number;
  /** Page number; undefined if the tree is empty. */
  readonly root: number | undefined;
}

/** A meta page. */
export interface Meta {
  readonly pageSize: number;
  readonly mapSize: number;
  readonly free: Tree;
  readonly main: Tree;
  readonly lastPage: number;
  readonly commit: number;
  readonly boot: bigint;
  readonly flushed: boolean;
}

/** Length of a tree's description, in bytes. */
export const TREE_BYTES = 48;

/** Reads the description of a tree at byte `at`. */
export function readTree(bytes: Buffer, at: number): Tree {
  const root = bytes.readBigUInt64LE(at + 40);
  return {
    flags: bytes.readUInt16LE(at + 4),
    depth: bytes.readUInt16LE(at + 6),
    branchPages: readPageNumber(bytes, at + 8),
    leafPages: readPageNumber(bytes, at + 16),
    overflowPages: readPageNumber(bytes, at + 24),
    entries: readPageNumber(bytes, at + 32),
    root: root === NO_PAGE ? undefined : Number(root),
  };
}

/** Reads 8 bytes as a number, exact up to 2^53. No page number is larger. */
export function readPageNumber(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
}

/** An open file's meta pages, and the one that LMDB will choose. Undefined if the file is new. Throws DataFileError. */
export function readMetas(fd: number): { chosen: Meta; metas: readonly Meta[] } | undefined {
  if (fstatSync(fd).size === 0) return undefined;
  const first = readMeta(fd, 0, true);
  const { pageSize } = first;
  const second = readMeta(fd, pageSize, true);
  const flushed = readMeta(fd, pageSize / 2, false);
  const metas = [first, second, ...(flushed.commit > 0 ? [flushed] : [])];
  if (second.pageSize !== pageSize) throw new DataFileError('its meta pages do not agree');
  const newest = Math.max(first.commit, second.commit);
  if (newest === 0) return { chosen: first, metas };
  const boot = bootId();
  const chosen = metas.reduce((a, b) => choose(a, b, boot));
  // After LMDB has undone commits, only some of their pages may be on disk.
  const undone = chosen === flushed;
  const successive = Math.abs(first.commit - second.commit) === 1 && first.commit % 2 === 0;
  if ((!successive && !undone) || flushed.commit > newest) {
    throw new DataFileError('its meta pages do not belong to successive commits');
  }
  // LMDB undoes commits only if the machine went down before they were flushed. In that case, no meta page comes from
  // this boot.
  if (chosen.commit < newest && metas.some((meta) => meta.boot === boot)) {
    throw new DataFileError('its last commit is not readable');
  }
  return { chosen, metas };
}

/** Chooses between two meta pages as LMDB does. */
function choose(a: Meta, b: Meta, boot: bigint): Meta {
  const latest = a.commit >= b.commit ? a : b;
  if (latest.flushed || (latest.boot !== 0n && latest.boot === boot)) return latest;
  return a.commit > b.commit ? b : a;
}

/** The boot id as LMDB reads it: the first group of digits as a hexadecimal number, or 0 if there is none. */
function bootId(): bigint {
  if (!existsSync(BOOT_ID)) return 0n;
  return BigInt(`0x${/^[0-9a-f]+/.exec(readFileSync(BOOT_ID, 'utf8'))?.[0] ?? '0'}`);
}

function readMeta(fd: number, at: number, whole: boolean): Meta {
  const bytes = Buffer.alloc(META_BYTES);
  const read = readSync(fd, bytes, 0, META_BYTES, at);
  const isMeta = (bytes.readUInt16LE(META.kind) & IS_META) !== 0 && bytes.readUInt32LE(META.magic) === MAGIC;
  if (whole && (read < META_BYTES || !isMeta)) {
    throw new DataFileError('it is not a data file, or its start is unreadable');
  }
  const flags = bytes.readUInt16LE(META.freeTree + 4);
  const meta = {
    pageSize: bytes.readUInt32LE(META.freeTree),
    mapSize: readPageNumber(bytes, META.mapSize),
    free: readTree(bytes, META.freeTree),
    main: readTree(bytes, META.mainTree),
    lastPage: readPageNumber(bytes, META.last),
    commit: readPageNumber(bytes, META.commit),
    boot: bytes.readBigInt64LE(META.boot),
    flushed: (flags & UNFLUSHED) === 0,
  };
  if (!whole && meta.commit === 0) return meta;
  const { pageSize } = meta;
  if (
    (whole && (bytes.readUInt32LE(META.version) & 0xffff) !== VERSION) ||
    (flags & ~UNFLUSHED) !== FREE_FLAGS ||
    pageSize < 512 ||
    pageSize > 0x10000 ||
    (pageSize & (pageSize - 1)) !== 0 ||
    meta.mapSize > MAX_MAP_BYTES ||
    meta.lastPage * pageSize > MAX_MAP_BYTES
  ) {
    throw new DataFileError('a meta page is not readable');
  }
  return meta;
}
