import type { Geometry } from './geometry.js';
import { KERNEL_BINARY } from './kernel-binary.js';
import { isPacked, type Keys } from './keys.js';

/** The exports of libs/bloom/kernel. Its layout.ts describes the layout of the memory. */
interface Exports {
  hash(scheme: number, count: number, origin: number): void;
  readStrings(at: number, end: number): number;
  /** Signed. */
  readonly stopped: WebAssembly.Global;
  readonly closed: WebAssembly.Global;
  place(count: number, segments: number, pagesPerSegment: number, hashes: number, shift: number): void;
  readonly BLOCK_KEYS: WebAssembly.Global;
  readonly MAX_HASHES: WebAssembly.Global;
  readonly SLACK: WebAssembly.Global;
  readonly SEED: WebAssembly.Global;
  readonly SPAN: WebAssembly.Global;
  readonly HASH: WebAssembly.Global;
  readonly SEGMENT: WebAssembly.Global;
  readonly PAGE: WebAssembly.Global;
  readonly CELL: WebAssembly.Global;
  readonly BYTES: WebAssembly.Global;
}

const MEMORY_PAGE = 65_536;
/** Room for a block of short keys. Longer keys make the memory grow. */
const INITIAL_PAGES = 8;

const memory = new WebAssembly.Memory({ initial: INITIAL_PAGES });
const kernel = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(KERNEL_BINARY, 'base64')), {
  env: { memory },
}).exports as Exports;

/** The most keys that the kernel takes at a time. */
export const BLOCK_KEYS = kernel.BLOCK_KEYS.value;
/** The most cells that an item can have. */
export const MAX_HASHES = kernel.MAX_HASHES.value;
const BYTES = kernel.BYTES.value;

/** Typed views of the kernel's memory. */
class Views {
  readonly bytes = new Uint8Array(memory.buffer);
  readonly span = new Uint32Array(memory.buffer, kernel.SPAN.value, 2 * BLOCK_KEYS);
  readonly hash = new Uint32Array(memory.buffer, kernel.HASH.value, 4 * BLOCK_KEYS);
  readonly segment = new Uint32Array(memory.buffer, kernel.SEGMENT.value, BLOCK_KEYS);
  readonly page = new Uint32Array(memory.buffer, kernel.PAGE.value, BLOCK_KEYS);
  readonly cell = new Uint16Array(memory.buffer, kernel.CELL.value, MAX_HASHES * BLOCK_KEYS);
}

/** Replaced when the memory grows. */
let views = new Views();
const encoder = new TextEncoder();

/** Makes room for `bytes` bytes of keys. */
function reserve(bytes: number): void {
  const missing = BYTES + bytes + kernel.SLACK.value - memory.buffer.byteLength;
  if (missing <= 0) return;
  memory.grow(Math.ceil(missing / MEMORY_PAGE));
  views = new Views();
}

/** Writes strings into the memory as UTF-8. */
function loadStrings(keys: readonly string[]): void {
  const text = keys.join('');
  reserve(text.length * 3);
  const { bytes, span } = views;
  const { written } = encoder.encodeInto(text, bytes.subarray(BYTES));
  const ascii = written === text.length;
  let at = 0;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    span[2 * i] = at;
    at += ascii ? key.length : Buffer.byteLength(key);
    span[2 * i + 1] = at;
  }
  // A lone surrogate at the end of one key and one at the start of the next have merged.
  if (at !== written) throw new RangeError('a key is not well-formed Unicode');
}

/** Writes a block of keys into the memory. Returns the offset that their spans are counted from. */
function loadKeys(keys: Keys): number {
  if (!isPacked(keys)) {
    loadStrings(keys);
    return 0;
  }
  const { bytes, span, length } = keys;
  const origin = span[0] ?? 0;
  const end = span[2 * length - 1] ?? origin;
  reserve(end - origin);
  views.bytes.set(bytes.subarray(origin, end), BYTES);
  views.span.set(span);
  return origin;
}

/** The part of a filter's description that decides where its items lie, apart from the seed. */
export type Placement = Pick<
  Geometry,
  'hashScheme' | 'segments' | 'pagesPerSegment' | 'pageCells' | 'hashes'
>;

/** The arrays that the kernel writes positions into. See Positions. */
export interface Places {
  readonly hash: Uint32Array;
  readonly segment: Uint32Array;
  readonly page: Uint32Array;
  readonly cell: Uint16Array;
}

/**
 * Hashes at most BLOCK_KEYS keys, and writes their positions into `out` from item `at` on. Throws RangeError for more
 * cells per item than MAX_HASHES or than a page has.
 */
export function locate(keys: Keys, seed: Uint8Array, placement: Placement, out: Places, at: number): void {
  const count = keys.length;
  const origin = loadKeys(keys);
  views.bytes.set(seed, kernel.SEED.value);
  kernel.hash(placement.hashScheme, count, origin);
  out.hash.set(views.hash.subarray(0, 4 * count), 4 * at);
  place(count, placement, out, at);
}

/** As `locate`, of items whose hashes, four words each, are in `out` from item `at` on: at most BLOCK_KEYS. */
export function locateHashes(count: number, placement: Placement, out: Places, at: number): void {
  views.hash.set(out.hash.subarray(4 * at, 4 * (at + count)));
  place(count, placement, out, at);
}

/** Places the items whose hashes the memory has. */
function place(
  count: number,
  { segments, pagesPerSegment, pageCells, hashes }: Placement,
  out: Places,
  at: number,
): void {
  const most = Math.min(MAX_HASHES, pageCells);
  if (hashes > most) throw new RangeError(`${hashes} cells an item: at most ${most}`);
  kernel.place(count, segments, pagesPerSegment, hashes, 32 - Math.log2(pageCells));
  out.segment.set(views.segment.subarray(0, count), at);
  out.page.set(views.page.subarray(0, count), at);
  out.cell.set(views.cell.subarray(0, hashes * count), hashes * at);
}

/** The four words of the 128-bit hash of `bytes`, under a hash scheme's number. */
export function hashBytes(scheme: number, seed: Uint8Array, bytes: Uint8Array): Uint32Array {
  reserve(bytes.length);
  views.bytes.set(bytes, BYTES);
  views.bytes.set(seed, kernel.SEED.value);
  views.span.set([0, bytes.length]);
  kernel.hash(scheme, 1, 0);
  return views.hash.slice(0, 4);
}

/** The elements of a JSON array, and the offset after its closing bracket. */
export interface ReadStrings {
  /** As in PackedKeys. */
  readonly span: Uint32Array;
  readonly end: number;
}

/**
 * Reads a JSON array from its first element on, at `from`. Undefined if it contains anything but strings without
 * escapes. It does not check that these are UTF-8.
 */
export function readStrings(json: Uint8Array, from: number): ReadStrings | undefined {
  reserve(json.length);
  views.bytes.set(json, BYTES);
  const blocks: Uint32Array[] = [];
  let at = BYTES + from;
  do {
    const count = kernel.readStrings(at, BYTES + json.length);
    at = kernel.stopped.value;
    if (at < 0) return undefined;
    blocks.push(views.span.slice(0, 2 * count));
  } while (kernel.closed.value === 0);
  return { span: joined(blocks), end: at - BYTES };
}

function joined(blocks: readonly Uint32Array[]): Uint32Array {
  if (blocks.length === 1) return blocks[0] as Uint32Array;
  const all = new Uint32Array(blocks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const block of blocks) {
    all.set(block, at);
    at += block.length;
  }
  return all;
}
