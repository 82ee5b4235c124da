import { STAMP_BYTES } from '#bloom';
import { CYCLE, type Expiring, MOST_BEHIND, stampOf } from '../../age.js';
import { SATURATED } from './packed-cells.js';

/*
 * Cells of filters that age (see age.ts). An item is `k` cells of the page that begins at byte `page`. The current
 * epoch is `epoch`, or the epoch in `expiring`, which counts cells by their last epoch.
 */

const COUNTER_UNIT = CYCLE;
const FULL = SATURATED * COUNTER_UNIT;

/** Returned by `epochsLeft` if one of the item's cells is zero or has expired. */
export const GONE = -1;

/** True if all cells of an item are live. */
export function isLive(
  bytes: Uint8Array,
  page: number,
  cell: Uint16Array,
  at: number,
  k: number,
  epoch: number,
): boolean {
  const stamp = stampOf(bytes, page);
  const lag = epoch - stamp;
  for (let j = at; j < at + k; j++) {
    const c = bytes[page + STAMP_BYTES + (cell[j] as number)] as number;
    if (c < COUNTER_UNIT || ((c - stamp) & 15) < lag) return false;
  }
  return true;
}

/** For how many epochs after the current one all cells of an item are live. GONE if some cell isn't live now. */
export function epochsLeft(
  bytes: Uint8Array,
  page: number,
  cell: Uint16Array,
  at: number,
  k: number,
  epoch: number,
): number {
  const stamp = stampOf(bytes, page);
  const lag = epoch - stamp;
  let least = CYCLE;
  for (let j = at; j < at + k; j++) {
    const c = bytes[page + STAMP_BYTES + (cell[j] as number)] as number;
    const left = ((c - stamp) & 15) - lag;
    if (c < COUNTER_UNIT || left < 0) return GONE;
    if (left < least) least = left;
  }
  return least;
}

/**
 * If a page's stamp is too far behind, empties its expired cells and stamps it. Returns how many of the emptied cells
 * were at 15. Call it before changing an item in the page.
 */
export function cleanPage(bytes: Uint8Array, page: number, pageCells: number, epoch: number): number {
  const stamp = stampOf(bytes, page);
  const lag = epoch - stamp;
  if (lag <= MOST_BEHIND) return 0;
  let saturated = 0;
  for (let at = page + STAMP_BYTES; at < page + STAMP_BYTES + pageCells; at++) {
    const c = bytes[at] as number;
    if (c === 0 || ((c - stamp) & 15) >= lag) continue;
    if (c >= FULL) saturated++;
    bytes[at] = 0;
  }
  for (let i = 0, rest = epoch; i < STAMP_BYTES; i++, rest = Math.floor(rest / 256)) bytes[page + i] = rest;
  return saturated;
}

/**
 * Makes each cell of an item live for at least `lasts` more epochs. With `counts`, also increments its counter. Without
 * `counts`, all cells must be live. Returns the change in the number of cells at 15.
 */
export function raiseAged(
  bytes: Uint8Array,
  page: number,
  cell: Uint16Array,
  at: number,
  k: number,
  lasts: number,
  counts: boolean,
  expiring: Expiring,
): number {
  const { epoch } = expiring;
  const stamp = stampOf(bytes, page);
  const lag = epoch - stamp;
  const expiry = (epoch + lasts) & 15;
  const up = counts ? COUNTER_UNIT : 0;
  let saturated = 0;
  for (let j = at; j < at + k; j++) {
    const place = page + STAMP_BYTES + (cell[j] as number);
    let c = bytes[place] as number;
    const left = ((c - stamp) & 15) - lag;
    if (c < COUNTER_UNIT || left < 0) {
      if (c >= FULL) saturated--;
      expiring.count(lasts, 1);
      bytes[place] = COUNTER_UNIT | expiry;
      continue;
    }
    if (left < lasts) {
      expiring.count(left, -1);
      expiring.count(lasts, 1);
      c = (c & ~15) | expiry;
    }
    if (c < FULL) {
      c += up;
      if (c >= FULL) saturated++;
    }
    bytes[place] = c;
  }
  return saturated;
}

/**
 * Decrements each cell of an item that is below 15. All cells must be live. Returns true if that emptied a cell.
 * Otherwise the cells still claim the item.
 */
export function lowerAged(
  bytes: Uint8Array,
  page: number,
  cell: Uint16Array,
  at: number,
  k: number,
  expiring: Expiring,
): boolean {
  const stamp = stampOf(bytes, page);
  const lag = expiring.epoch - stamp;
  let emptied = false;
  for (let j = at; j < at + k; j++) {
    const place = page + STAMP_BYTES + (cell[j] as number);
    const c = bytes[place] as number;
    if (c >= FULL) continue;
    if (c >= 2 * COUNTER_UNIT) {
      bytes[place] = c - COUNTER_UNIT;
      continue;
    }
    expiring.count(((c - stamp) & 15) - lag, -1);
    bytes[place] = 0;
    emptied = true;
  }
  return emptied;
}

/** The smallest of an item's counters. All cells must be live. */
export function smallestAged(
  bytes: Uint8Array,
  page: number,
  cell: Uint16Array,
  at: number,
  k: number,
): number {
  let smallest = SATURATED;
  for (let j = at; j < at + k; j++) {
    smallest = Math.min(smallest, (bytes[page + STAMP_BYTES + (cell[j] as number)] as number) >> 4);
  }
  return smallest;
}
