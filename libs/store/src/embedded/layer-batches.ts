import type { Positions } from '#bloom';
import { Removed } from '../store.js';
import {
  ABSENT,
  becameSaturated,
  BITS,
  COUNTERS,
  crossedZero,
  removeCounters,
  smallestCounter,
  type Cells,
} from './cells.js';
import { fetchPages } from './fetch-pages.js';
import type { LayerState } from './layer-state.js';

/*
 * What a batch does in one layer. Positions are those in the layer.
 */

/** The operations on cells of a layer's width. */
export function cellsOf({ plan }: LayerState): Cells {
  return plan.geometry.cellBits === 4 ? COUNTERS : BITS;
}

const NONE = new Uint32Array(0);

/** One answer per item: 1 if all its cells are non-zero, else 0. */
export function checkIn(layer: LayerState, positions: Positions): Uint8Array {
  const { pageCells } = layer.plan.geometry;
  const { count, hashes: k, segment, page, cell } = positions;
  const { contains } = cellsOf(layer);
  fetchPages(layer, positions);
  const present = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const bytes = layer.segments[segment[i] as number] as Uint8Array;
    if (contains(bytes, (page[i] as number) * pageCells, cell, i * k, k)) present[i] = 1;
  }
  return present;
}

export function countIn(layer: LayerState, positions: Positions): Uint8Array {
  const { pageCells } = layer.plan.geometry;
  const { count, hashes: k, segment, page, cell } = positions;
  fetchPages(layer, positions);
  const smallest = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const bytes = layer.segments[segment[i] as number] as Uint8Array;
    smallest[i] = smallestCounter(bytes, (page[i] as number) * pageCells, cell, i * k, k);
  }
  return smallest;
}

/**
 * Adds items to a layer that may take `room` new ones. Answers whose cells changed, which were new, and which it neither
 * claims nor has room for.
 */
export function addIn(layer: LayerState, positions: Positions, multiset: boolean, room: number) {
  const { pageCells } = layer.plan.geometry;
  const { count, hashes: k, segment, page, cell } = positions;
  const { contains, add } = cellsOf(layer);
  const testFirst = !multiset || room < count;
  fetchPages(layer, positions);
  const changed = new Uint32Array(count);
  const fresh = new Uint32Array(Math.min(count, room));
  let rest: Uint32Array | undefined;
  let changes = 0;
  let added = 0;
  let left = 0;
  let nonZero = 0;
  let saturated = 0;
  for (let i = 0; i < count; i++) {
    const s = segment[i] as number;
    const bytes = layer.segments[s] as Uint8Array;
    const base = (page[i] as number) * pageCells;
    if (testFirst) {
      if (contains(bytes, base, cell, i * k, k)) {
        if (!multiset) continue;
      } else if (added >= room) {
        rest ??= new Uint32Array(count);
        rest[left++] = i;
        continue;
      }
    }
    const packed = add(bytes, base, cell, i * k, k);
    if (packed === 0) continue;
    changed[changes++] = i;
    layer.dirty[layer.blockOf(s, page[i] as number)] = 1;
    nonZero += crossedZero(packed);
    saturated += becameSaturated(packed);
    // Some cell was zero: the item was not present.
    if (crossedZero(packed) > 0) fresh[added++] = i;
  }
  const { tally } = layer;
  tally.items += added;
  tally.nonZeroCells += nonZero;
  tally.saturatedCells += saturated;
  return {
    changed: changed.subarray(0, changes),
    fresh: fresh.subarray(0, added),
    rest: rest?.subarray(0, left) ?? NONE,
  };
}

/** Removes items from a layer. Answers one Removed per item, whose cells changed, and which it does not claim. */
export function removeIn(layer: LayerState, positions: Positions) {
  const { pageCells } = layer.plan.geometry;
  const { count, hashes: k, segment, page, cell } = positions;
  fetchPages(layer, positions);
  const found = new Uint8Array(count);
  const changed = new Uint32Array(count);
  const rest = new Uint32Array(count);
  const { tally } = layer;
  let changes = 0;
  let left = 0;
  for (let i = 0; i < count; i++) {
    const s = segment[i] as number;
    const bytes = layer.segments[s] as Uint8Array;
    const packed = removeCounters(bytes, (page[i] as number) * pageCells, cell, i * k, k);
    if (packed === ABSENT) {
      rest[left++] = i;
      continue;
    }
    if (packed === 0) {
      found[i] = Removed.Saturated;
      continue;
    }
    found[i] = Removed.Removed;
    changed[changes++] = i;
    layer.dirty[layer.blockOf(s, page[i] as number)] = 1;
    tally.nonZeroCells -= crossedZero(packed);
    if (crossedZero(packed) > 0 && tally.items > 0) tally.items--;
  }
  return { found, changed: changed.subarray(0, changes), rest: rest.subarray(0, left) };
}
