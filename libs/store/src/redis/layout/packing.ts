import { type Geometry, pageBytes, type Positions, STAMP_BYTES } from '#bloom';
import { LANES_PER_SCRIPT } from '../scripts/host-lanes.js';
import { HOST_BYTES } from '../scripts/queue-state.js';

/** The items sent in one script call. All belong to one batch and one segment. */
export interface Chunk {
  readonly segment: number;
  /** Number of the chunk within its segment. */
  readonly number: number;
  /** Indexes of the items in the batch, ascending. */
  readonly indexes: Uint32Array;
}

/**
 * Estimated server time for one new item, in µs, and a script's time budget. Measured on 2 cores of about 3 GHz: 5 µs
 * at k=6 and 128-byte pages, 8 µs at k=9 and 256-byte pages. The budget leaves room for slower machines.
 */
const itemCost = (geometry: Geometry) => 2.5 + 0.4 * geometry.hashes + pageBytes(geometry) / 150;
const SCRIPT_BUDGET = 850;

/** Estimated server time for the lane of one item in a per-host queue, in µs. Several items usually share a lane. */
const LANE_COST = 2;

/** How many reads take as long as adding one new item (measured: 2.0 to 2.2). */
const READS_PER_CHANGE = 2;

/**
 * How many layers to size scripts for, if the filter grows. Most filters have only one layer. Sized for six, their
 * scripts would be a quarter as long, and each item would cost a third more. With six layers, a script takes twice its
 * budget.
 */
const LAYERS_COSTED = 2;

/**
 * Items per script, so that no script blocks the server for long. A pure function of the planned layers' geometries,
 * because chunk numbers name operation records. A new item is read in each layer and written in one. With `hosts`, it
 * may also change a lane.
 */
export function itemsPerScript(planned: readonly Geometry[], hosts = false): number {
  const geometries = planned.slice(0, LAYERS_COSTED);
  const costs = geometries.map(itemCost);
  const dearest = Math.max(...costs);
  const cost = readCost(geometries) + dearest - dearest / READS_PER_CHANGE;
  return hosts ? Math.min(LANES_PER_SCRIPT, atCost(cost + LANE_COST)) : atCost(cost);
}

/** Like itemsPerScript, for read-only scripts, with the existing layers. These chunks name no records. */
export function itemsPerRead(geometries: readonly Geometry[]): number {
  return atCost(readCost(geometries));
}

function readCost(geometries: readonly Geometry[]): number {
  return geometries.reduce((sum, geometry) => sum + itemCost(geometry) / READS_PER_CHANGE, 0);
}

function atCost(cost: number): number {
  return Math.max(1, Math.floor(SCRIPT_BUDGET / cost));
}

/**
 * Splits the items of each segment into chunks, in batch order. A pure function of batch and geometry, because chunk
 * numbers name operation records. An empty batch becomes one empty chunk, so that Redis still checks that the filter
 * exists.
 */
export function dealChunks(segment: Uint32Array, segments: number, size: number): Chunk[][] {
  const counts = new Uint32Array(segments);
  for (const s of segment) counts[s] = (counts[s] as number) + 1;
  const starts = new Uint32Array(segments + 1);
  for (let s = 0; s < segments; s++) starts[s + 1] = (starts[s] as number) + (counts[s] as number);
  const order = new Uint32Array(segment.length);
  const next = starts.slice(0, segments);
  for (let i = 0; i < segment.length; i++) {
    const s = segment[i] as number;
    order[next[s] as number] = i;
    next[s] = (next[s] as number) + 1;
  }
  const dealt: Chunk[][] = [];
  for (let s = 0; s < segments; s++) {
    const chunks: Chunk[] = [];
    const end = starts[s + 1] as number;
    for (let at = starts[s] as number, number = 0; at < end; at += size, number++) {
      chunks.push({ segment: s, number, indexes: order.subarray(at, Math.min(at + size, end)) });
    }
    if (chunks.length > 0) dealt.push(chunks);
  }
  if (dealt.length === 0) dealt.push([{ segment: 0, number: 0, indexes: order }]);
  return dealt;
}

/**
 * Packs items for the scripts of items/programs.ts. Format of an item:
 *
 *   1 byte       digits of the first byte's offset in the segment
 *   1 byte       digits of the last byte's offset
 *   [k bytes]    high bytes of the cells' offsets, in pages of more than 256 bytes
 *   k bytes      byte offsets of the cells from the first byte or, in a filter that ages, from the page's stamp
 *   k bytes weights of the cells in their bytes (absent if a cell is a byte)
 *   digits       both offsets, decimal (formatting a number in Redis' Lua costs more than sending it)
 */
export function packItems(positions: Positions, indexes: Uint32Array, geometry: Geometry): Buffer {
  const { cell, page, hashes: k } = positions;
  const { cellBits } = geometry;
  if (cellBits === 8) return packAged(positions, indexes, geometry);
  const bytesPerPage = pageBytes(geometry);
  const wide = isWide(geometry);
  const perByte = 8 / cellBits;
  const packed = Buffer.allocUnsafe(indexes.length * (2 + (wide ? 3 : 2) * k + 16));
  let at = 0;
  for (const index of indexes) {
    const c = index * k;
    const base = (page[index] as number) * bytesPerPage;
    const first = Math.floor((cell[c] as number) / perByte);
    const last = Math.floor((cell[c + k - 1] as number) / perByte);
    const header = at;
    at += 2;
    if (wide)
      for (let j = 0; j < k; j++) packed[at++] = (Math.floor((cell[c + j] as number) / perByte) - first) >> 8;
    for (let j = 0; j < k; j++) packed[at++] = Math.floor((cell[c + j] as number) / perByte) - first;
    for (let j = 0; j < k; j++)
      packed[at++] = 1 << (8 - cellBits - ((cell[c + j] as number) % perByte) * cellBits);
    const middle = writeDecimal(packed, at, base + first);
    const end = writeDecimal(packed, middle, base + last);
    packed[header] = middle - at;
    packed[header + 1] = end - middle;
    at = end;
  }
  return packed.subarray(0, at);
}

function packAged(positions: Positions, indexes: Uint32Array, geometry: Geometry): Buffer {
  const { cell, page, hashes: k } = positions;
  const bytesPerPage = pageBytes(geometry);
  const wide = isWide(geometry);
  const packed = Buffer.allocUnsafe(indexes.length * (2 + (wide ? 2 : 1) * k + 20));
  let at = 0;
  for (const index of indexes) {
    const c = index * k;
    const base = (page[index] as number) * bytesPerPage;
    const last = STAMP_BYTES + (cell[c + k - 1] as number);
    const header = at;
    at += 2;
    if (wide) for (let j = 0; j < k; j++) packed[at++] = (STAMP_BYTES + (cell[c + j] as number)) >> 8;
    for (let j = 0; j < k; j++) packed[at++] = STAMP_BYTES + (cell[c + j] as number);
    const middle = writeDecimal(packed, at, base);
    const end = writeDecimal(packed, middle, base + last);
    packed[header] = middle - at;
    packed[header + 1] = end - middle;
    at = end;
  }
  return packed.subarray(0, at);
}

/** True if offsets inside a page take two bytes. */
export function isWide(geometry: Geometry): boolean {
  return pageBytes(geometry) > 256;
}

function writeDecimal(out: Buffer, at: number, value: number): number {
  let digits = 1;
  for (let power = 10; power <= value; power *= 10) digits++;
  for (let i = at + digits - 1, rest = value; i >= at; i--) {
    const tenth = Math.floor(rest / 10);
    out[i] = 48 + rest - tenth * 10;
    rest = tenth;
  }
  return at + digits;
}

/** The 16 bytes of each item's hash, as big-endian words. Scripts find queue entries by this hash. */
export function packHashes(positions: Positions, indexes: Uint32Array): Buffer {
  const packed = Buffer.allocUnsafe(indexes.length * 16);
  indexes.forEach((index, n) => writeHash(packed, n * 16, positions, index));
  return packed;
}

/**
 * For each item: its hash (16 bytes), the length of its payload in bytes (u32, big-endian) and the payload (UTF-8).
 * With `hosts`, the second word of the host's hash precedes the payload, and counts as part of it.
 */
export function packPayloads(
  positions: Positions,
  indexes: Uint32Array,
  payloads: readonly string[],
  hosts = false,
): Buffer {
  const more = hosts ? HOST_BYTES : 0;
  let size = 0;
  for (const index of indexes) size += 20 + more + Buffer.byteLength(payloads[index] as string);
  const packed = Buffer.allocUnsafe(size);
  let at = 0;
  for (const index of indexes) {
    writeHash(packed, at, positions, index);
    if (hosts) packed.writeUInt32BE(hostWord(positions, index), at + 20);
    const length = more + packed.write(payloads[index] as string, at + 20 + more);
    packed.writeUInt32BE(length, at + 16);
    at += 20 + length;
  }
  return packed;
}

/** The second word of each item's host hash. */
export function packHostWords(positions: Positions, indexes: Uint32Array): Buffer {
  const packed = Buffer.allocUnsafe(indexes.length * HOST_BYTES);
  indexes.forEach((index, n) => packed.writeUInt32BE(hostWord(positions, index), n * HOST_BYTES));
  return packed;
}

/** For each of the items' hosts: the two words of its hash, the length of its name (u16) and the name (UTF-8). */
export function packNames(positions: Positions, indexes: Uint32Array, hosts: readonly string[]): Buffer {
  const { host } = positions;
  const names = new Map<string, Buffer>();
  for (const index of indexes) {
    const name = hosts[index] as string;
    if (names.has(name)) continue;
    const packed = Buffer.alloc(10 + Buffer.byteLength(name));
    packed.writeUInt32BE(host?.[2 * index] as number);
    packed.writeUInt32BE(hostWord(positions, index), 4);
    packed.writeUInt16BE(packed.write(name, 10), 8);
    names.set(name, packed);
  }
  return Buffer.concat([...names.values()]);
}

const hostWord = ({ host }: Positions, index: number): number => host?.[2 * index + 1] as number;

function writeHash(out: Buffer, at: number, positions: Positions, index: number): void {
  for (let w = 0; w < 4; w++) out.writeUInt32BE(positions.hash[index * 4 + w] as number, at + w * 4);
}

/** Each item's segment in the filter, from its positions in a layer with several pieces per segment. */
export function segmentsOf({ segment }: Positions, pieces: number): Uint32Array {
  return pieces === 1 ? segment : segment.map((piece) => Math.floor(piece / pieces));
}
