import { foldDuplicates, type Positions } from '#bloom';
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

/** What a batch did: one answer per item, and the indexes of the items whose cells changed. */
export interface Outcome {
  readonly answers: Uint8Array;
  readonly changed: Uint32Array;
}

/** The operations on cells of a filter's width. */
export function cellsOf(state: FilterState): Cells {
  return state.filter.geometry.cellBits === 4 ? COUNTERS : BITS;
}

/** One answer per item: 1 if all its cells are non-zero, else 0. */
export function checkBatch(state: FilterState, positions: Positions): Uint8Array {
  const { pageCells } = state.filter.geometry;
  const { count, hashes: k, segment, page, cell } = positions;
  const { contains } = cellsOf(state);
  fetchPages(state, positions);
  const present = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const bytes = state.segments[segment[i] as number] as Uint8Array;
    if (contains(bytes, (page[i] as number) * pageCells, cell, i * k, k)) present[i] = 1;
  }
  return present;
}

/** The smallest counter of each item. */
export function countBatch(state: FilterState, positions: Positions): Uint8Array {
  const { pageCells } = state.filter.geometry;
  const { count, hashes: k, segment, page, cell } = positions;
  fetchPages(state, positions);
  const smallest = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const bytes = state.segments[segment[i] as number] as Uint8Array;
    smallest[i] = smallestCounter(bytes, (page[i] as number) * pageCells, cell, i * k, k);
  }
  return smallest;
}

/** Throws FILTER_FULL if the batch's new items would bring the filter above twice its capacity. Changes nothing. */
export function refuseOverflow(state: FilterState, positions: Positions): void {
  const limit = 2 * state.filter.capacity;
  const { items } = state.tally;
  if (items + positions.count <= limit) return;
  const distinct = foldDuplicates(positions)?.positions ?? positions;
  let fresh = 0;
  for (const present of checkBatch(state, distinct)) fresh += 1 - present;
  if (items + fresh > limit) throw full(state.filter, items, fresh);
}

/** Adds the batch in memory. */
export function addBatch(state: FilterState, positions: Positions): Outcome {
  const { geometry, semantics } = state.filter;
  const { count, hashes: k, segment, page, cell } = positions;
  const { contains, add } = cellsOf(state);
  const testFirst = semantics === 'set';
  fetchPages(state, positions);
  const answers = new Uint8Array(count);
  const changed = new Uint32Array(count);
  let changes = 0;
  let fresh = 0;
  let nonZero = 0;
  let saturated = 0;
  for (let i = 0; i < count; i++) {
    const s = segment[i] as number;
    const bytes = state.segments[s] as Uint8Array;
    const base = (page[i] as number) * geometry.pageCells;
    if (testFirst && contains(bytes, base, cell, i * k, k)) continue;
    const packed = add(bytes, base, cell, i * k, k);
    if (packed === 0) continue;
    changed[changes++] = i;
    state.dirty[state.blockOf(s, page[i] as number)] = 1;
    nonZero += crossedZero(packed);
    saturated += becameSaturated(packed);
    // Some cell was zero: the item was not present.
    if (crossedZero(packed) === 0) continue;
    answers[i] = Added.New;
    fresh++;
  }
  const { tally } = state;
  tally.items += fresh;
  tally.added += fresh;
  tally.duplicate += count - fresh;
  tally.nonZeroCells += nonZero;
  tally.saturatedCells += saturated;
  return { answers, changed: changed.subarray(0, changes) };
}

/** Removes the batch in memory; counting filters only. */
export function removeBatch(state: FilterState, positions: Positions): Outcome {
  const { pageCells } = state.filter.geometry;
  const { count, hashes: k, segment, page, cell } = positions;
  fetchPages(state, positions);
  const answers = new Uint8Array(count);
  const changed = new Uint32Array(count);
  const { tally } = state;
  let changes = 0;
  for (let i = 0; i < count; i++) {
    const s = segment[i] as number;
    const bytes = state.segments[s] as Uint8Array;
    const packed = removeCounters(bytes, (page[i] as number) * pageCells, cell, i * k, k);
    if (packed === ABSENT) continue;
    if (packed === 0) {
      answers[i] = Removed.Saturated;
      continue;
    }
    answers[i] = Removed.Removed;
    changed[changes++] = i;
    state.dirty[state.blockOf(s, page[i] as number)] = 1;
    tally.nonZeroCells -= crossedZero(packed);
    if (crossedZero(packed) > 0 && tally.items > 0) tally.items--;
  }
  tally.removed += changes;
  tally.refused += count - changes;
  return { answers, changed: changed.subarray(0, changes) };
}
