import { type Geometry, segmentsPerRun } from './geometry.js';
import { KERNEL_BINARY } from './kernel-binary.js';
import { isPacked, type Keys } from './keys.js';

/** The exports of libs/bloom/kernel. Its layout.ts describes the memory. */
interface Exports {
  hash(scheme: number, count: number, origin: number): void;
  readStrings(at: number, end: number): number;
  /** Signed: -1 if the kernel met anything but a string without escapes. */
  readonly stopped: WebAssembly.Global;
  readonly closed: WebAssembly.Global;
  place(
    count: number,
    segments: number,
    perRun: number,
    pagesPerSegment: number,
    hashes: number,
    shift: number,
  ): void;
  readonly BLOCK_KEYS: WebAssembly.Global;
  readonly MAX_HASHES: WebAssembly.Global;
  readonly SLACK: WebAssembly.Global;
  readonly SEED: WebAssembly.Global;
  readonly SPAN: WebAssembly.Global;
  readonly HASH: WebAssembly.Global;
  readonly HOST: WebAssembly.Global;
  readonly SEGMENT: WebAssembly.Global;
  readonly PAGE: WebAssembly.Global;
  readonly CELL: WebAssembly.Global;
  readonly BYTES: WebAssembly.Global;
}

const MEMORY_PAGE = 65_536;
/** Enough for a block of short keys. The memory grows for longer keys. */
const INITIAL_PAGES = 8;

const memory = new WebAssembly.Memory({ initial: INITIAL_PAGES });
const kernel = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(KERNEL_BINARY, 'base64')), {
  env: { memory },
}).exports as Exports;

/** Maximum number of keys per kernel call. */
export const BLOCK_KEYS = kernel.BLOCK_KEYS.value;
/** Maximum number of cells per item. */
export const MAX_HASHES = kernel.MAX_HASHES.value;
const BYTES = kernel.BYTES.value;

/** Typed views of the kernel's memory. */
class Views {
  readonly bytes = new Uint8Array(memory.buffer);
  readonly span = new Uint32Array(memory.buffer, kernel.SPAN.value, 2 * BLOCK_KEYS);
  readonly hash = new Uint32Array(memory.buffer, kernel.HASH.value, 4 * BLOCK_KEYS);
  readonly host = new Uint32Array(memory.buffer, kernel.HOST.value, 2 * BLOCK_KEYS);
  readonly segment = new Uint32Array(memory.buffer, kernel.SEGMENT.value, BLOCK_KEYS);
  readonly page = new Uint32Array(memory.buffer, kernel.PAGE.value, BLOCK_KEYS);
  readonly cell = new Uint16Array(memory.buffer, kernel.CELL.value, MAX_HASHES * BLOCK_KEYS);
}

/** Replaced when the memory grows, which detaches the old buffer. */
let views = new Views();
const encoder = new TextEncoder();

/** Grows the memory, if necessary, to hold `bytes` bytes of keys. */
function reserve(bytes: number): void {
  const missing = BYTES + bytes + kernel.SLACK.value - memory.buffer.byteLength;
  if (missing <= 0) return;
  memory.grow(Math.ceil(missing / MEMORY_PAGE));
  views = new Views();
}

/** Writes strings to the memory as UTF-8. */
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
  // The encoder joined a lone surrogate at the end of one key with one at the start of the next.
  if (at !== written) throw new RangeError('a key is not well-formed Unicode');
}

/** Writes a block of keys to the memory. Returns the offset from which their spans count. */
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

/** The parts of a geometry that decide, together with the seed, where items lie. */
export type Placement = Pick<
  Geometry,
  'hashScheme' | 'segments' | 'spread' | 'pagesPerSegment' | 'pageCells' | 'hashes'
>;

/** The arrays that receive the positions. See Positions. */
export interface Places {
  readonly hash: Uint32Array;
  readonly host?: Uint32Array;
  readonly segment: Uint32Array;
  readonly page: Uint32Array;
  readonly cell: Uint16Array;
}

/**
 * Hashes at most BLOCK_KEYS keys and writes their positions to `out`, starting at item `at`. Throws RangeError if items
 * have more than MAX_HASHES cells, or more than a page has.
 */
export function locate(keys: Keys, seed: Uint8Array, placement: Placement, out: Places, at: number): void {
  const count = keys.length;
  const origin = loadKeys(keys);
  views.bytes.set(seed, kernel.SEED.value);
  kernel.hash(placement.hashScheme, count, origin);
  out.hash.set(views.hash.subarray(0, 4 * count), 4 * at);
  out.host?.set(views.host.subarray(0, 2 * count), 2 * at);
  place(count, placement, out, at);
}

/** Like `locate`, but reads hashes (four words each) of at most BLOCK_KEYS items from `out`, starting at item `at`. */
export function locateHashes(count: number, placement: Placement, out: Places, at: number): void {
  views.hash.set(out.hash.subarray(4 * at, 4 * (at + count)));
  place(count, placement, out, at);
}

/** Computes positions for the items whose hashes are in the memory. */
function place(count: number, placement: Placement, out: Places, at: number): void {
  const { segments, pagesPerSegment, pageCells, hashes } = placement;
  const most = Math.min(MAX_HASHES, pageCells);
  if (hashes > most) throw new RangeError(`${hashes} cells per item; the limit is ${most}`);
  const perRun = placement.spread === undefined ? 0 : segmentsPerRun(placement);
  kernel.place(count, segments, perRun, pagesPerSegment, hashes, 32 - Math.log2(pageCells));
  out.segment.set(views.segment.subarray(0, count), at);
  out.page.set(views.page.subarray(0, count), at);
  out.cell.set(views.cell.subarray(0, hashes * count), hashes * at);
}

/** The 128-bit hash of `bytes` as four words. */
export function hashBytes(scheme: number, seed: Uint8Array, bytes: Uint8Array): Uint32Array {
  reserve(bytes.length);
  views.bytes.set(bytes, BYTES);
  views.bytes.set(seed, kernel.SEED.value);
  views.span.set([0, bytes.length]);
  kernel.hash(scheme, 1, 0);
  return views.hash.slice(0, 4);
}

/** The strings of a JSON array, and the offset after its closing bracket. */
export interface ReadStrings {
  /** Has the format of PackedKeys.span. */
  readonly span: Uint32Array;
  readonly end: number;
}

/**
 * Reads a JSON array from offset `from`, where its first element begins. Returns undefined if the array contains
 * anything but strings without escapes. Doesn't check that the strings are UTF-8.
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
