import type { Geometry } from '#bloom';

/**
 * A segment's cells, in the layout of Redis BITFIELD:
 *
 *   counters (4 bits)   cell i is a nibble of byte i >> 1: the high one for even i, the low one for odd i
 *   bits (1 bit)        cell i is bit 7 - (i & 7) of byte i >> 3
 *
 * An item is `k` cells: `base + cell[at] … base + cell[at + k - 1]`, with `base` its page's first cell. A counter at 15
 * is stuck: its true value is unknown, so decrementing it could make a present item absent.
 *
 * The functions run once per item and allocate nothing. They return several small numbers in one integer:
 *
 *   bits 0-7     number of cells that became non-zero (add) or zero (remove)
 *   bits 8-15    number of cells that became SATURATED
 *   from bit 16  number of changed cells
 *
 * k is at most 32, so no field overflows.
 */
export interface Cells {
  /** True if all k cells are non-zero. */
  readonly contains: (bytes: Uint8Array, base: number, cell: Uint16Array, at: number, k: number) => boolean;
  /** Increments each cell that is below its limit. Returns the changes, packed as above. */
  readonly add: (bytes: Uint8Array, base: number, cell: Uint16Array, at: number, k: number) => number;
}

/** The value at which a counter is stuck. */
export const SATURATED = 15;
/** Returned by `removeCounters` if some counter is zero. It then changes nothing. */
export const ABSENT = -1;

/** The lowest field: cells that became non-zero (add) or zero (remove). */
export const crossedZero = (packed: number): number => packed & 0xff;
/** The middle field: cells that became 15. */
export const becameSaturated = (packed: number): number => (packed >> 8) & 0xff;

function containsCounters(
  bytes: Uint8Array,
  base: number,
  cell: Uint16Array,
  at: number,
  k: number,
): boolean {
  for (let j = at; j < at + k; j++) {
    const c = base + (cell[j] as number);
    if ((((bytes[c >> 1] as number) >> ((~c & 1) << 2)) & 15) === 0) return false;
  }
  return true;
}

function addCounters(bytes: Uint8Array, base: number, cell: Uint16Array, at: number, k: number): number {
  let packed = 0;
  for (let j = at; j < at + k; j++) {
    const c = base + (cell[j] as number);
    const shift = (~c & 1) << 2;
    const byte = bytes[c >> 1] as number;
    const counter = (byte >> shift) & 15;
    if (counter === SATURATED) continue;
    bytes[c >> 1] = byte + (1 << shift);
    packed += 0x10000;
    if (counter === 0) packed += 1;
    else if (counter === SATURATED - 1) packed += 0x100;
  }
  return packed;
}

/**
 * If all counters are above zero, decrements each one that isn't at 15. Otherwise changes nothing. Returns ABSENT if
 * some counter is zero, 0 if all are at 15, and the packed changes otherwise.
 */
export function removeCounters(
  bytes: Uint8Array,
  base: number,
  cell: Uint16Array,
  at: number,
  k: number,
): number {
  if (!containsCounters(bytes, base, cell, at, k)) return ABSENT;
  let packed = 0;
  for (let j = at; j < at + k; j++) {
    const c = base + (cell[j] as number);
    const shift = (~c & 1) << 2;
    const byte = bytes[c >> 1] as number;
    const counter = (byte >> shift) & 15;
    if (counter === SATURATED) continue;
    bytes[c >> 1] = byte - (1 << shift);
    packed += counter === 1 ? 0x10001 : 0x10000;
  }
  return packed;
}

export function smallestCounter(
  bytes: Uint8Array,
  base: number,
  cell: Uint16Array,
  at: number,
  k: number,
): number {
  let smallest = SATURATED;
  for (let j = at; j < at + k; j++) {
    const c = base + (cell[j] as number);
    const counter = ((bytes[c >> 1] as number) >> ((~c & 1) << 2)) & 15;
    if (counter < smallest) smallest = counter;
  }
  return smallest;
}

function containsBits(bytes: Uint8Array, base: number, cell: Uint16Array, at: number, k: number): boolean {
  for (let j = at; j < at + k; j++) {
    const c = base + (cell[j] as number);
    if (((bytes[c >> 3] as number) & (0x80 >> (c & 7))) === 0) return false;
  }
  return true;
}

function addBits(bytes: Uint8Array, base: number, cell: Uint16Array, at: number, k: number): number {
  let packed = 0;
  for (let j = at; j < at + k; j++) {
    const c = base + (cell[j] as number);
    const byte = bytes[c >> 3] as number;
    const bit = 0x80 >> (c & 7);
    if ((byte & bit) !== 0) continue;
    bytes[c >> 3] = byte | bit;
    packed += 0x10001;
  }
  return packed;
}

/** 4-bit cells, for counting filters. */
export const COUNTERS: Cells = { contains: containsCounters, add: addCounters };
/** 1-bit cells, for standard filters. */
export const BITS: Cells = { contains: containsBits, add: addBits };

/** The operations for cells of this width. */
export function cellsOf({ cellBits }: Pick<Geometry, 'cellBits'>): Cells {
  return cellBits === 4 ? COUNTERS : BITS;
}
