import type { Positions } from '#bloom';
import { Added, Removed } from '../../port/index.js';
import type { LayerState } from '../layers/layer-state.js';
import { type CellKind, LEFT, type Outcome, type Raising } from './cell-kind.js';
import { fetchPages } from './fetch-pages.js';
import {
  ABSENT,
  becameSaturated,
  cellsOf,
  crossedZero,
  removeCounters,
  smallestCounter,
} from './packed-cells.js';

/** A layer of packed counters or bits. */
export const PACKED: CellKind = { claim, least, raise, lower };

function claim(layer: LayerState, positions: Positions): Uint8Array {
  const { pageCells } = layer.plan.geometry;
  const { count, hashes: k, segment, page, cell } = positions;
  const { contains } = cellsOf(layer.plan.geometry);
  fetchPages(layer, positions);
  const claimed = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const bytes = layer.segments[segment[i] as number] as Uint8Array;
    if (contains(bytes, (page[i] as number) * pageCells, cell, i * k, k)) claimed[i] = 1;
  }
  return claimed;
}

function least(layer: LayerState, positions: Positions): Uint8Array {
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

function raise(layer: LayerState, positions: Positions, { room, multiset }: Raising): Outcome {
  const { pageCells } = layer.plan.geometry;
  const { count, hashes: k, segment, page, cell } = positions;
  const { contains, add } = cellsOf(layer.plan.geometry);
  const testFirst = !multiset || room < count;
  fetchPages(layer, positions);
  const answers = new Uint8Array(count);
  const changed = new Uint32Array(count);
  let changes = 0;
  let added = 0;
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
        answers[i] = LEFT;
        continue;
      }
    }
    const packed = add(bytes, base, cell, i * k, k);
    if (packed === 0) continue;
    changed[changes++] = i;
    layer.dirty[layer.blockOf(s, page[i] as number)] = 1;
    nonZero += crossedZero(packed);
    saturated += becameSaturated(packed);
    // Some cell was zero, so the item was absent.
    if (crossedZero(packed) > 0) {
      answers[i] = Added.New;
      added++;
    }
  }
  const { tally } = layer;
  tally.items += added;
  tally.nonZeroCells += nonZero;
  tally.saturatedCells += saturated;
  return outcomeOf(layer, positions, answers, changed.subarray(0, changes));
}

function lower(layer: LayerState, positions: Positions): Outcome {
  const { pageCells } = layer.plan.geometry;
  const { count, hashes: k, segment, page, cell } = positions;
  fetchPages(layer, positions);
  const answers = new Uint8Array(count);
  const changed = new Uint32Array(count);
  const { tally } = layer;
  let changes = 0;
  for (let i = 0; i < count; i++) {
    const s = segment[i] as number;
    const bytes = layer.segments[s] as Uint8Array;
    const packed = removeCounters(bytes, (page[i] as number) * pageCells, cell, i * k, k);
    if (packed === ABSENT) continue;
    if (packed === 0) {
      answers[i] = Removed.Saturated;
      continue;
    }
    answers[i] = Removed.Removed;
    changed[changes++] = i;
    layer.dirty[layer.blockOf(s, page[i] as number)] = 1;
    tally.nonZeroCells -= crossedZero(packed);
    if (crossedZero(packed) > 0 && tally.items > 0) tally.items--;
  }
  return outcomeOf(layer, positions, answers, changed.subarray(0, changes));
}

function outcomeOf(
  layer: LayerState,
  positions: Positions,
  answers: Uint8Array,
  changed: Uint32Array,
): Outcome {
  return { answers, changes: changed.length > 0 ? [{ layer, positions, changed }] : [] };
}
