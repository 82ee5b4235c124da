import { foldDuplicates, relocate, select, type Positions } from '#bloom';
import { Added } from '../store.js';
import { addIn, checkIn, countIn, removeIn } from './layer-batches.js';
import type { LayerList } from './layer-list.js';
import type { LayerState } from './layer-state.js';

/*
 * What a batch does in the layers of one list. Positions are those in its first layer.
 */

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

/** One answer per item: 1 if all its cells are non-zero in some layer, else 0. */
export function checkInList(list: LayerList, positions: Positions): Uint8Array {
  const { layers } = list;
  if (layers.length === 1) return checkIn(layers[0], positions);
  const present = new Uint8Array(positions.count);
  let some: Some;
  // The newest layer is the largest, so most items are found there.
  for (let n = layers.length - 1; n >= 0; n--) {
    const layer = layers[n] as LayerState;
    const claimed = checkIn(layer, positionsIn(list, layer, positions, some));
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
export function countInList(list: LayerList, positions: Positions): Uint8Array {
  const { layers } = list;
  if (layers.length === 1) return countIn(layers[0], positions);
  const smallest = new Uint8Array(positions.count);
  let some: Some;
  for (const layer of layers) {
    const counts = countIn(layer, positionsIn(list, layer, positions, some));
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

/** How many items of a batch the list does not claim, each counted once. */
export function freshIn(list: LayerList, positions: Positions): number {
  const distinct = foldDuplicates(positions)?.positions ?? positions;
  let fresh = 0;
  for (const present of checkInList(list, distinct)) fresh += 1 - present;
  return fresh;
}

/** How many layers the list has to grow by to take so many new items beyond `room`. Undefined if it cannot take them. */
export function layersToHold(list: LayerList, fresh: number, room: number): number | undefined {
  let needed = 0;
  for (let left = room; fresh > left; needed++) {
    const next = list.plan[list.layers.length + needed];
    if (!next) return undefined;
    left += next.capacity;
  }
  return needed;
}

/**
 * Adds the batch in memory. `grow` opens the next layer; it is called as often as layersToHold said at most. An item goes
 * through the layers, oldest first, until one claims it. In each layer the items keep their order, and layers have no
 * cells in common, so that this comes to the same as item after item. Answers Added.New for what no layer claimed.
 */
export function addToList(
  list: LayerList,
  positions: Positions,
  multiset: boolean,
  grow?: () => LayerState,
): Outcome & { readonly added: number } {
  const { layers } = list;
  const answers = new Uint8Array(positions.count);
  const changes: LayerChange[] = [];
  let added = 0;
  let some: Some;
  for (let n = 0; ; n++) {
    const layer = layers[n] ?? (grow as () => LayerState)();
    const last = n === layers.length - 1;
    const room = !last ? 0 : list.next ? layer.room : Infinity;
    const here = positionsIn(list, layer, positions, some);
    const { changed, fresh, rest } = addIn(layer, here, multiset, room);
    for (const i of fresh) answers[some ? (some[i] as number) : i] = Added.New;
    if (changed.length > 0) changes.push({ layer, positions: here, changed });
    added += fresh.length;
    if (rest.length === 0) break;
    some = some ? rest.map((i) => (some as Uint32Array)[i] as number) : rest;
  }
  return { answers, changes, added };
}

/** Removes the batch in memory, each item from the oldest layer that claims it. Answers one Removed per item. */
export function removeFromList(list: LayerList, positions: Positions): Outcome {
  const answers = new Uint8Array(positions.count);
  const changes: LayerChange[] = [];
  let some: Some;
  for (const layer of list.layers) {
    const here = positionsIn(list, layer, positions, some);
    const { found, changed, rest } = removeIn(layer, here);
    for (let i = 0; i < found.length; i++) answers[some ? (some[i] as number) : i] = found[i] as number;
    if (changed.length > 0) changes.push({ layer, positions: here, changed });
    if (rest.length === 0) break;
    some = some ? rest.map((i) => (some as Uint32Array)[i] as number) : rest;
  }
  return { answers, changes };
}

/** The positions of some of a batch's items in a layer. Those of the batch are in the first. */
function positionsIn(list: LayerList, layer: LayerState, positions: Positions, some: Some): Positions {
  if (layer !== list.first) return relocate(positions, layer.plan.geometry, some);
  return some ? select(positions, some) : positions;
}
