import { foldDuplicates, relocate, select, type Positions } from '#bloom';
import { Added } from '../store.js';
import {
  addInAged,
  agedLayer,
  checkInAged,
  countInAged,
  epochsLeftIn,
  type Lasts,
  removeInAged,
} from './aged-batches.js';
import { GONE } from './aged-cells.js';
import type { Ageing } from './ageing.js';
import type { LayerChange } from './journal.js';
import { addIn, checkIn, countIn, removeIn } from './layer-batches.js';
import type { LayerList } from './layer-list.js';
import type { LayerState } from './layer-state.js';

/*
 * What a batch does in the layers of one list. Positions are those in its first layer.
 */

/** What a batch did: one answer per item, and the layers whose cells changed. */
export interface Outcome {
  readonly answers: Uint8Array;
  readonly changes: readonly LayerChange[];
}

/** Indexes of items in a batch. Absent: all items. */
type Some = Uint32Array | undefined;

/** One answer per item: 1 if all its cells are non-zero in some layer, else 0. */
export function checkInList(list: LayerList, positions: Positions): Uint8Array {
  const { age } = list;
  const present = claimedByList(list, positions);
  if (!age || age.hidden.size === 0) return present;
  for (let i = 0; i < present.length; i++)
    if (present[i] === 1 && age.hidden.has(positions.hash, 4 * i)) present[i] = 0;
  return present;
}

function claimedByList(list: LayerList, positions: Positions): Uint8Array {
  const { layers, age } = list;
  const claimedIn = (layer: LayerState, here: Positions): Uint8Array =>
    age ? checkInAged(agedLayer(layer, age), here) : checkIn(layer, here);
  if (layers.length === 1) return claimedIn(layers[0], positions);
  const present = new Uint8Array(positions.count);
  let some: Some;
  // The newest layer is the largest, so most items are found there.
  for (let n = layers.length - 1; n >= 0; n--) {
    const layer = layers[n] as LayerState;
    const claimed = claimedIn(layer, positionsIn(list, layer, positions, some));
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

/** Per item, for how many more epochs the oldest layer that claims it does so; GONE if none does, or the item is hidden. */
export function epochsLeftInList(list: LayerList, age: Ageing, positions: Positions): Int8Array {
  const all = new Int8Array(positions.count).fill(GONE);
  const anyHidden = age.hidden.size > 0;
  let some: Some;
  for (const layer of list.layers) {
    const found = epochsLeftIn(agedLayer(layer, age), positionsIn(list, layer, positions, some));
    const rest = new Uint32Array(found.length);
    let left = 0;
    for (let i = 0; i < found.length; i++) {
      const item = some ? (some[i] as number) : i;
      if (found[i] === GONE) rest[left++] = item;
      else if (!anyHidden || !age.hidden.has(positions.hash, 4 * item)) all[item] = found[i] as number;
    }
    if (left === 0) break;
    some = rest.subarray(0, left);
  }
  return all;
}

/** The smallest counter of each item, in the oldest layer where none is zero. */
export function countInList(list: LayerList, positions: Positions): Uint8Array {
  const { layers, age } = list;
  const countHere = (layer: LayerState, here: Positions): Uint8Array =>
    age ? countInAged(agedLayer(layer, age), here) : countIn(layer, here);
  if (layers.length === 1) return countHere(layers[0], positions);
  const smallest = new Uint8Array(positions.count);
  let some: Some;
  for (const layer of layers) {
    const counts = countHere(layer, positionsIn(list, layer, positions, some));
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

/**
 * As addToList, of a list that ages: what a layer claims is live from then on for as long as `lasts` says at least. With
 * `onlyClaimed` nothing is stored that no layer claims.
 */
export function addToAgedList(
  list: LayerList,
  age: Ageing,
  positions: Positions,
  lasts: Lasts,
  { grow, onlyClaimed = false }: { grow?: (() => LayerState) | undefined; onlyClaimed?: boolean } = {},
): Outcome & { readonly added: number } {
  const { layers } = list;
  const answers = new Uint8Array(positions.count);
  const changes: LayerChange[] = [];
  let added = 0;
  let some: Some;
  for (let n = 0; n < layers.length || !onlyClaimed; n++) {
    const layer = layers[n] ?? (grow as () => LayerState)();
    const last = n === layers.length - 1;
    const room = !last || onlyClaimed ? 0 : list.next ? layer.room : Infinity;
    const here = positionsIn(list, layer, positions, some);
    const wanted = typeof lasts === 'number' || !some ? lasts : pick(lasts, some);
    const outcome = addInAged(agedLayer(layer, age), here, wanted, room);
    for (let i = 0; i < outcome.answers.length; i++) {
      if (outcome.answers[i] !== Added.New) continue;
      answers[some ? (some[i] as number) : i] = Added.New;
      added++;
    }
    changes.push(...outcome.changes);
    const { rest } = outcome;
    if (rest.length === 0) break;
    some = some ? rest.map((i) => (some as Uint32Array)[i] as number) : rest;
  }
  return { answers, changes, added };
}

const pick = (values: Uint8Array, indexes: Uint32Array): Uint8Array =>
  Uint8Array.from(indexes, (index) => values[index] as number);

/** Removes the batch in memory, each item from the oldest layer that claims it. Answers one Removed per item. */
export function removeFromList(list: LayerList, positions: Positions): Outcome {
  const answers = new Uint8Array(positions.count);
  const changes: LayerChange[] = [];
  let some: Some;
  for (const layer of list.layers) {
    const here = positionsIn(list, layer, positions, some);
    const { found, rest, ...outcome } = list.age
      ? removeInAged(agedLayer(layer, list.age), here)
      : removeFrom(layer, here);
    for (let i = 0; i < found.length; i++) answers[some ? (some[i] as number) : i] = found[i] as number;
    changes.push(...outcome.changes);
    if (rest.length === 0) break;
    some = some ? rest.map((i) => (some as Uint32Array)[i] as number) : rest;
  }
  return { answers, changes };
}

function removeFrom(layer: LayerState, positions: Positions) {
  const { found, changed, rest } = removeIn(layer, positions);
  return { found, rest, changes: changed.length > 0 ? [{ layer, positions, changed }] : [] };
}

/** The positions of some of a batch's items in a layer. Those of the batch are in the first. */
function positionsIn(list: LayerList, layer: LayerState, positions: Positions, some: Some): Positions {
  if (layer !== list.first) return relocate(positions, layer.plan.geometry, some);
  return some ? select(positions, some) : positions;
}
