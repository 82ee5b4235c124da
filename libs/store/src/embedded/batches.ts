import { foldDuplicates, relocate, select, type Positions } from '#bloom';
import { full } from '../refusals.js';
import { Added, Removed } from '../store.js';
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
import type { FilterState } from './filter-state.js';
import type { LayerState } from './layer-state.js';

/** What a batch did in one layer: the items whose cells changed, by their indexes in `positions`, which are the layer's. */
export interface LayerChange {
  readonly layer: LayerState;
  readonly positions: Positions;
  readonly changed: Uint32Array;
}

/** What a batch did: one answer per item, and the layers whose cells changed. */
export interface Outcome {
  readonly answers: Uint8Array;
  readonly changes: readonly LayerChange[];
}

/** Indexes of items in a batch. Absent: all items. */
type Some = Uint32Array | undefined;

/** The operations on cells of a layer's width. */
export function cellsOf({ plan }: LayerState): Cells {
  return plan.geometry.cellBits === 4 ? COUNTERS : BITS;
}

/** One answer per item: 1 if all its cells are non-zero in some layer, else 0. */
export function checkBatch({ layers }: FilterState, positions: Positions): Uint8Array {
  if (layers.length === 1) return checkIn(layers[0], positions);
  const present = new Uint8Array(positions.count);
  let some: Some;
  // The newest layer is the largest, so most items are found there.
  for (let number = layers.length - 1; number >= 0; number--) {
    const layer = layers[number] as LayerState;
    const claimed = checkIn(layer, positionsIn(layer, positions, some));
    const rest = new Uint32Array(claimed.length);
    let left = 0;
    for (let i = 0; i < claimed.length; i++) {
      const item = some ? (some[i] as number) : i;
      if (claimed[i] === 1) present[item] = 1;
      else rest[left++] = item;
    }
    if (left === 0) break;
    some = rest.subarray(0, left);
  }
  return present;
}

/** The smallest counter of each item, in the oldest layer where none is zero. */
export function countBatch({ layers }: FilterState, positions: Positions): Uint8Array {
  if (layers.length === 1) return countIn(layers[0], positions);
  const smallest = new Uint8Array(positions.count);
  let some: Some;
  for (const layer of layers) {
    const counts = countIn(layer, positionsIn(layer, positions, some));
    const rest: number[] = [];
    for (let i = 0; i < counts.length; i++) {
      const item = some ? (some[i] as number) : i;
      if (counts[i] === 0) rest.push(item);
      else smallest[item] = counts[i] as number;
    }
    if (rest.length === 0) break;
    some = Uint32Array.from(rest);
  }
  return smallest;
}

/**
 * Throws FILTER_FULL if the batch's new items would bring the filter above twice its capacity, or, if it grows, above what
 * its last layer takes. Changes nothing. Answers how many layers the filter may have to grow by for the batch.
 */
export function layersNeeded(state: FilterState, positions: Positions): number {
  const { filter, open, plan, layers } = state;
  const grows = filter.layers !== undefined;
  let room = grows ? open.room : 2 * filter.capacity - open.tally.items;
  if (positions.count <= room) return 0;
  const distinct = foldDuplicates(positions)?.positions ?? positions;
  let fresh = 0;
  for (const present of checkBatch(state, distinct)) fresh += 1 - present;
  let needed = 0;
  for (; fresh > room; needed++) {
    const next = plan[layers.length + needed];
    if (!next) throw full(filter, state.sums().items, fresh);
    room += next.capacity;
  }
  return needed;
}

/**
 * Adds the batch in memory. `grow` opens the next layer; it is called as often as layersNeeded said at most. An item goes
 * through the layers, oldest first, until one claims it. In each layer the items keep their order, and layers have no
 * cells in common, so that this comes to the same as item after item.
 */
export function addBatch(state: FilterState, positions: Positions, grow?: () => LayerState): Outcome {
  const { filter, layers, tally } = state;
  const answers = new Uint8Array(positions.count);
  const changes: LayerChange[] = [];
  const before = tally.added;
  const multiset = filter.semantics === 'multiset';
  let some: Some;
  for (let number = 0; ; number++) {
    const layer = layers[number] ?? (grow as () => LayerState)();
    const last = number === layers.length - 1;
    const room = !last ? 0 : state.next ? layer.room : Infinity;
    const here = positionsIn(layer, positions, some);
    const { changed, fresh, rest } = addIn(layer, here, multiset, room);
    for (const i of fresh) answers[some ? (some[i] as number) : i] = Added.New;
    if (changed.length > 0) changes.push({ layer, positions: here, changed });
    tally.added += fresh.length;
    if (rest.length === 0) break;
    some = some ? rest.map((i) => (some as Uint32Array)[i] as number) : rest;
  }
  tally.duplicate += positions.count - (tally.added - before);
  return { answers, changes };
}

/** Removes the batch in memory, each item from the oldest layer that claims it; counting filters only. */
export function removeBatch({ layers, tally }: FilterState, positions: Positions): Outcome {
  const answers = new Uint8Array(positions.count);
  const changes: LayerChange[] = [];
  let removed = 0;
  let some: Some;
  for (const layer of layers) {
    const here = positionsIn(layer, positions, some);
    const { found, changed, rest } = removeIn(layer, here);
    for (let i = 0; i < found.length; i++) answers[some ? (some[i] as number) : i] = found[i] as number;
    if (changed.length > 0) changes.push({ layer, positions: here, changed });
    removed += changed.length;
    if (rest.length === 0) break;
    some = some ? rest.map((i) => (some as Uint32Array)[i] as number) : rest;
  }
  tally.removed += removed;
  tally.refused += positions.count - removed;
  return { answers, changes };
}

/** The positions of some of a batch's items in a layer. Those of the batch are in the first. */
function positionsIn({ number, plan }: LayerState, positions: Positions, some: Some): Positions {
  if (number > 0) return relocate(positions, plan.geometry, some);
  return some ? select(positions, some) : positions;
}

const NONE = new Uint32Array(0);

/** One answer per item: 1 if all its cells are non-zero, else 0. */
function checkIn(layer: LayerState, positions: Positions): Uint8Array {
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

function countIn(layer: LayerState, positions: Positions): Uint8Array {
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
function addIn(layer: LayerState, positions: Positions, multiset: boolean, room: number) {
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
function removeIn(layer: LayerState, positions: Positions) {
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
