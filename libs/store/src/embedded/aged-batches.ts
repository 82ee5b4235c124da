import type { Positions } from '#bloom';
import { Added, Removed } from '../store.js';
import { cleanPage, epochsLeft, GONE, isLive, lowerAged, raiseAged, smallestAged } from './aged-cells.js';
import type { Expiring } from '../age.js';
import type { Ageing } from './ageing.js';
import { fetchPages } from './fetch-pages.js';
import { AgedOperation, type LayerChange } from './journal.js';
import type { LayerState } from './layer-state.js';

/*
 * What a batch does in one layer of a list that ages. Positions are those in the layer.
 */

/** A layer of a list that ages. */
export interface AgedLayer {
  readonly layer: LayerState;
  readonly expiring: Expiring;
  readonly age: Ageing;
}

export function agedLayer(layer: LayerState, age: Ageing): AgedLayer {
  const { expiring } = layer;
  if (!expiring) throw new TypeError(`layer ${layer.number} does not age`);
  return { layer, expiring, age };
}

/** One answer per item: 1 if the layer claims it, else 0. */
export function checkInAged({ layer, age: { epoch } }: AgedLayer, positions: Positions): Uint8Array {
  const { count, hashes: k, segment, page, cell } = positions;
  fetchPages(layer, positions);
  const present = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const bytes = layer.segments[segment[i] as number] as Uint8Array;
    if (isLive(bytes, (page[i] as number) * layer.pageBytes, cell, i * k, k, epoch)) present[i] = 1;
  }
  return present;
}

/** Per item, for how many more epochs the layer claims it; GONE if it does not. */
export function epochsLeftIn({ layer, age: { epoch } }: AgedLayer, positions: Positions): Int8Array {
  const { count, hashes: k, segment, page, cell } = positions;
  fetchPages(layer, positions);
  const left = new Int8Array(count);
  for (let i = 0; i < count; i++) {
    const bytes = layer.segments[segment[i] as number] as Uint8Array;
    left[i] = epochsLeft(bytes, (page[i] as number) * layer.pageBytes, cell, i * k, k, epoch);
  }
  return left;
}

/** The smallest counter of each item; 0 if the layer does not claim it, or it is hidden. */
export function countInAged(aged: AgedLayer, positions: Positions): Uint8Array {
  const { layer, age } = aged;
  const { hashes: k, segment, page, cell, hash } = positions;
  const smallest = new Uint8Array(positions.count);
  for (const [i, left] of epochsLeftIn(aged, positions).entries()) {
    if (left === GONE || age.hidden.has(hash, 4 * i)) continue;
    const bytes = layer.segments[segment[i] as number] as Uint8Array;
    smallest[i] = smallestAged(bytes, (page[i] as number) * layer.pageBytes, cell, i * k, k);
  }
  return smallest;
}

/** Items of a batch whose cells have changed, by what was done to them. */
class Changed {
  private readonly items: Uint32Array;
  private readonly lasts: Uint8Array;
  private count = 0;

  constructor(
    private readonly operation: AgedOperation,
    size: number,
  ) {
    this.items = new Uint32Array(size);
    this.lasts = new Uint8Array(size);
  }

  push(item: number, lasts: number): void {
    this.items[this.count] = item;
    this.lasts[this.count++] = lasts;
  }

  *changes(layer: LayerState, positions: Positions, epoch: number): Generator<LayerChange, void, undefined> {
    const { operation, count } = this;
    if (count === 0) return;
    const changed = this.items.subarray(0, count);
    yield { layer, positions, changed, aged: { operation, epoch, lasts: this.lasts.subarray(0, count) } };
  }
}

/** For how many epochs after the present each item lasts, or all of them. */
export type Lasts = Uint8Array | number;

/**
 * Adds items to a layer that may take `room` new ones; those that it claims are live from then on for as long as they last at
 * least. One that is hidden is added anew where it is claimed, so that each of its cells counts it. Answers which were new, and
 * which the layer neither claims nor has room for.
 */
export function addInAged(aged: AgedLayer, positions: Positions, lasts: Lasts, room: number) {
  const { layer, expiring, age } = aged;
  const { hidden, epoch } = age;
  const { pageCells } = layer.plan.geometry;
  const { count, hashes: k, segment, page, cell, hash } = positions;
  fetchPages(layer, positions);
  const answers = new Uint8Array(count);
  const adds = new Changed(AgedOperation.Add, count);
  const refreshes = new Changed(AgedOperation.Refresh, count);
  const rest = new Uint32Array(count);
  const anyHidden = hidden.size > 0;
  let saturated = 0;
  let taken = 0;
  let left = 0;
  for (let i = 0; i < count; i++) {
    const s = segment[i] as number;
    const bytes = layer.segments[s] as Uint8Array;
    const at = (page[i] as number) * layer.pageBytes;
    const wanted = typeof lasts === 'number' ? lasts : (lasts[i] as number);
    const remaining = epochsLeft(bytes, at, cell, i * k, k, epoch);
    const claimed = remaining !== GONE;
    const isNew = (anyHidden && (claimed || taken < room) && hidden.show(hash, 4 * i)) || !claimed;
    if (!isNew && remaining >= wanted) continue;
    if (!claimed && taken >= room) {
      rest[left++] = i;
      continue;
    }
    saturated -= cleanPage(bytes, at, pageCells, epoch);
    saturated += raiseAged(bytes, at, cell, i * k, k, wanted, isNew, expiring);
    layer.dirty[layer.blockOf(s, page[i] as number)] = 1;
    if (isNew) {
      if (!claimed) taken++;
      answers[i] = Added.New;
      adds.push(i, wanted);
    } else refreshes.push(i, wanted);
  }
  layer.tally.saturatedCells += saturated;
  layer.recount();
  const changes = [...adds.changes(layer, positions, epoch), ...refreshes.changes(layer, positions, epoch)];
  return { answers, changes, rest: rest.subarray(0, left) };
}

/** Removes items from a layer. Answers one Removed per item, what has changed, and which items it does not claim. */
export function removeInAged(aged: AgedLayer, positions: Positions) {
  const { layer, expiring, age } = aged;
  const { hidden, epoch } = age;
  const { pageCells } = layer.plan.geometry;
  const { count, hashes: k, segment, page, cell, hash } = positions;
  fetchPages(layer, positions);
  const found = new Uint8Array(count);
  const removals = new Changed(AgedOperation.Remove, count);
  const rest = new Uint32Array(count);
  let left = 0;
  for (let i = 0; i < count; i++) {
    const s = segment[i] as number;
    const bytes = layer.segments[s] as Uint8Array;
    const at = (page[i] as number) * layer.pageBytes;
    const remaining = epochsLeft(bytes, at, cell, i * k, k, epoch);
    if (remaining === GONE) {
      rest[left++] = i;
      continue;
    }
    // Removed.Absent: its cells are others'.
    if (hidden.has(hash, 4 * i)) continue;
    layer.tally.saturatedCells -= cleanPage(bytes, at, pageCells, epoch);
    layer.dirty[layer.blockOf(s, page[i] as number)] = 1;
    if (!lowerAged(bytes, at, cell, i * k, k, expiring)) hidden.hide(hash, 4 * i, remaining);
    found[i] = Removed.Removed;
    removals.push(i, 0);
  }
  layer.recount();
  return { found, changes: [...removals.changes(layer, positions, epoch)], rest: rest.subarray(0, left) };
}
