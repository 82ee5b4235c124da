import { DataFileError, PAGE_HEADER, readPageNumber, type Tree } from './data-file.js';
import { PageKind, type DataPages } from './data-pages.js';

const NODE_HEADER = 8;
/** A long value's node: page number (8), commit (8), number of pages (8). */
const LONG_VALUE_BYTES = 24;
/** How a node stores its value. `Tree` means that the value describes a tree. */
const NodeFlag = { Inline: 0, Long: 1, Tree: 2 } as const;
/** LMDB can't hold a deeper tree. */
const MAX_DEPTH = 32;

/** Key and value are valid until the next visit. `tree`: the value describes a tree. */
export type Visit = (key: Buffer, value: Buffer, tree: boolean) => void;

export type CompareKeys = (a: Buffer, b: Buffer) => number;

/**
 * Walks one tree of a data file and visits its rows in order. First checks everything that LMDB relies on. On bytes
 * that it didn't write, LMDB may abort, read out of bounds or never return. Throws DataFileError.
 *
 * `skim`: reads only the parts that LMDB relies on, and doesn't visit rows with long values.
 */
export class DataTree {
  private branchPages = 0;
  private leafPages = 0;
  private overflowPages = 0;
  private entries = 0;
  /** One buffer per depth. */
  private readonly buffers: Buffer[] = [];
  private long = Buffer.alloc(0);
  private readonly layout: PageLayout;

  constructor(
    private readonly pages: DataPages,
    private readonly compare: CompareKeys,
    private readonly visit: Visit,
    private readonly skim = false,
  ) {
    this.layout = new PageLayout(pages.pageSize);
  }

  walk(tree: Tree): void {
    if (tree.root === undefined) {
      if (tree.entries + tree.depth > 0) throw new DataFileError('a tree has no root');
      return;
    }
    if (tree.depth > MAX_DEPTH) throw new DataFileError(`a tree is ${tree.depth} pages deep`);
    this.page(tree.root, tree.depth, undefined, undefined);
    if (
      tree.branchPages !== this.branchPages ||
      tree.leafPages !== this.leafPages ||
      tree.overflowPages !== this.overflowPages ||
      tree.entries !== this.entries
    ) {
      throw new DataFileError('the pages and rows of a tree do not match its description');
    }
  }

  /**
   * Reads a page and all pages below it, a total of `depth` levels. Their keys must be at least `low` and less than
   * `high`.
   */
  private page(number: number, depth: number, low: Buffer | undefined, high: Buffer | undefined): void {
    const buffer = (this.buffers[depth] ??= Buffer.alloc(this.pages.pageSize));
    const kind = this.pages.read(number, buffer);
    if ((kind === PageKind.Leaf) !== (depth === 1))
      throw new DataFileError(`page ${number} is at the wrong depth`);
    const nodes = this.layout.nodes(buffer, number, kind);
    if (kind === PageKind.Leaf) this.leaf(buffer, nodes, low, high);
    else this.branch(buffer, nodes, depth, low, high);
  }

  private branch(
    page: Buffer,
    nodes: readonly number[],
    depth: number,
    low: Buffer | undefined,
    high: Buffer | undefined,
  ): void {
    this.branchPages++;
    if (nodes.length < 2) throw new DataFileError('a branch of a tree is empty');
    // The first node's key has no meaning.
    let from = low;
    for (const [i, node] of nodes.entries()) {
      const next = nodes[i + 1];
      const to = next === undefined ? high : keyOf(page, next);
      if (from && to && this.compare(from, to) >= 0) throw new DataFileError('branches are out of order');
      const child = page.readUInt16LE(node + 4) * 2 ** 32 + page.readUInt32LE(node);
      this.page(child, depth - 1, from, to);
      from = to;
    }
  }

  private leaf(
    page: Buffer,
    nodes: readonly number[],
    low: Buffer | undefined,
    high: Buffer | undefined,
  ): void {
    this.leafPages++;
    this.entries += nodes.length;
    let before: Buffer | undefined;
    for (const node of nodes) {
      const key = keyOf(page, node);
      const bound = before ?? low;
      const order = bound ? this.compare(bound, key) : -1;
      if (order > 0 || (before && order === 0)) throw new DataFileError('rows are out of order');
      before = key;
      const flags = page.readUInt16LE(node + 4);
      const value = this.valueOf(page, node, key.length, flags);
      if (value) this.visit(key, value, flags === NodeFlag.Tree);
    }
    if (high && before && this.compare(before, high) >= 0) throw new DataFileError('rows are out of order');
  }

  private valueOf(page: Buffer, node: number, keyLength: number, flags: number): Buffer | undefined {
    const at = node + NODE_HEADER + keyLength;
    const length = page.readUInt32LE(node);
    if (flags !== NodeFlag.Long) return page.subarray(at, at + length);
    const count = readPageNumber(page, at + 16);
    if (count !== Math.floor((PAGE_HEADER - 1 + length) / this.pages.pageSize) + 1) {
      throw new DataFileError('a long value has too few or too many pages');
    }
    const bytes = this.skim ? PAGE_HEADER : count * this.pages.pageSize;
    if (this.long.length < bytes) this.long = Buffer.alloc(2 * bytes);
    this.overflowPages += count;
    this.pages.readOverflow(readPageNumber(page, at), count, this.long, bytes);
    if (this.skim) return undefined;
    return this.long.subarray(PAGE_HEADER, PAGE_HEADER + length);
  }
}

function keyOf(page: Buffer, node: number): Buffer {
  const at = node + NODE_HEADER;
  return page.subarray(at, at + page.readUInt16LE(node + 6));
}

/** Finds a page's nodes. They fill its upper part without gaps, in any order. */
class PageLayout {
  /** For each even offset: the number of the visit to the last page with a node there, and that node's size. */
  private readonly startOf: Uint32Array;
  private readonly sizeAt: Uint16Array;
  private pagesSeen = 0;

  constructor(private readonly pageSize: number) {
    this.startOf = new Uint32Array(pageSize / 2);
    this.sizeAt = new Uint16Array(pageSize / 2);
  }

  nodes(page: Buffer, number: number, kind: PageKind): number[] {
    const broken = (): DataFileError => new DataFileError(`page ${number} is not readable`);
    const lower = page.readUInt16LE(20);
    const upper = page.readUInt16LE(22);
    const space = this.pageSize - PAGE_HEADER;
    if (lower === 0 || lower % 2 !== 0 || lower > upper || upper > space) throw broken();
    const count = lower / 2;
    const seen = ++this.pagesSeen;
    const nodes = new Array<number>(count);
    for (let i = 0; i < count; i++) {
      const offset = page.readUInt16LE(PAGE_HEADER + 2 * i);
      if (offset < upper || offset % 2 !== 0 || offset + NODE_HEADER > space) throw broken();
      nodes[i] = PAGE_HEADER + offset;
      this.startOf[offset / 2] = seen;
      this.sizeAt[offset / 2] = Math.min(nodeSize(page, PAGE_HEADER + offset, kind), 0xffff);
    }
    let filled = 0;
    let at = upper;
    for (; at < space && this.startOf[at / 2] === seen; at += this.sizeAt[at / 2] as number) filled++;
    if (at !== space || filled !== count) throw broken();
    return nodes;
  }
}

/** A node's size in bytes, which is even. Larger than any page if the bytes aren't a node. */
function nodeSize(page: Buffer, node: number, kind: PageKind): number {
  const keyLength = page.readUInt16LE(node + 6);
  let size = NODE_HEADER + keyLength;
  if (kind === PageKind.Leaf) {
    const flags = page.readUInt16LE(node + 4);
    if (flags === NodeFlag.Long) size += LONG_VALUE_BYTES;
    else if (flags === NodeFlag.Inline || flags === NodeFlag.Tree) size += page.readUInt32LE(node);
    else return Infinity;
  }
  return size + (size % 2);
}
