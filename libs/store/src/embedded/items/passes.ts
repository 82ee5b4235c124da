import { positionsOfHashes, relocate, select, type Positions } from '#bloom';
import type { Ageing } from '../layers/ageing.js';
import type { LayerChange } from '../journal/journal.js';
import type { LayerStack } from '../layers/layer-stack.js';
import type { LayerState } from '../layers/layer-state.js';
import { AgedLayer } from './aged-layer.js';
import { type CellKind, LEFT, type Outcome, type Raising } from './cell-kind.js';
import { PACKED } from './packed-layer.js';
import { byRun, type Some, type Visit } from './runs.js';
import { indexesOf, pick, put } from './subsets.js';

/*
 * Takes batches through a filter's or sync's layers. Positions refer to the first of these layers.
 */

const kindOf = ({ age }: LayerStack): CellKind => (age ? new AgedLayer(age) : PACKED);

/**
 * Takes a batch through some layers, one after another. Each layer gets the items for which the earlier layers returned
 * `left`. Items keep their order within a layer, and layers share no cells, so the answers are the same as item by
 * item.
 */
function pass(
  stack: LayerStack,
  layers: readonly LayerState[],
  positions: Positions,
  visit: Visit<Uint8Array>,
  left = 0,
): Uint8Array {
  let answers: Uint8Array | undefined;
  // Iterates by index: in a grown filter, an iterator makes a batch up to a tenth slower.
  for (let n = 0; n < layers.length; n++) {
    const layer = layers[n] as LayerState;
    const some = answers && indexesOf(answers, left);
    if (some?.length === 0) break;
    const found = visit(layer, positionsIn(stack, layer, positions, some), some);
    answers = answers && some ? put(answers, some, found) : found;
  }
  return answers as Uint8Array;
}

/** Like `pass` through all layers, oldest first, for visits that change cells. */
function change(stack: LayerStack, positions: Positions, visit: Visit<Outcome>, left?: number): Outcome {
  const changes: LayerChange[] = [];
  const changing: Visit<Uint8Array> = (...visited) => {
    const outcome = visit(...visited);
    changes.push(...outcome.changes);
    return outcome.answers;
  };
  return { answers: pass(stack, stack.layers, positions, changing, left), changes };
}

/** The positions of all or some of a batch's items in a layer. */
function positionsIn(stack: LayerStack, layer: LayerState, positions: Positions, some?: Some): Positions {
  if (layer !== stack.first) return relocate(positions, layer.plan.geometry, some);
  return some ? select(positions, some) : positions;
}

/**
 * Converts positions in the first layer of `from` to positions in the first layer of `stack`, for all or some items.
 */
export function positionsOn(
  stack: LayerStack,
  from: LayerStack,
  positions: Positions,
  some?: Some,
): Positions {
  const [{ geometry }, { geometry: other }] = [stack.plan[0], from.plan[0]];
  const same = geometry.hashes === other.hashes && geometry.pageCells === other.pageCells;
  return same ? relocate(positions, geometry, some) : positionsOfHashes(positions.hash, geometry, some);
}

/** One answer per item: 1 if some layer claims it, or 0 if none does. */
export function claims(stack: LayerStack, positions: Positions): Uint8Array {
  const kind = kindOf(stack);
  // Newest first: it is the largest layer, so it has most of the items.
  return pass(stack, stack.layers.toReversed(), positions, (layer, here) => kind.claim(layer, here));
}

/** The smallest counter of each item in the oldest layer that claims it, or 0. */
export function least(stack: LayerStack, positions: Positions): Uint8Array {
  const kind = kindOf(stack);
  return pass(stack, stack.layers, positions, (layer, here) => kind.least(layer, here));
}

/**
 * For each item, for how many epochs the oldest layer that claims it still will, including the current epoch. 0 if no
 * layer claims it.
 */
export function epochsLeft(stack: LayerStack, age: Ageing, positions: Positions): Uint8Array {
  const kind = new AgedLayer(age);
  return pass(stack, stack.layers, positions, (layer, here) => kind.left(layer, here));
}

/** Removes the batch in memory, each item from the oldest layer that claims it. Returns one of Removed per item. */
export function removeFrom(stack: LayerStack, positions: Positions): Outcome {
  const kind = kindOf(stack);
  return change(
    stack,
    positions,
    byRun((layer, here) => kind.lower(layer, here)),
  );
}

/** Options of `addTo`. */
export interface Adding extends Pick<Raising, 'lasts'>, Partial<Pick<Raising, 'multiset'>> {
  /** Adds only items that some layer claims. The answers are then meaningless. */
  readonly onlyClaimed?: boolean;
  /** Opens the next layer. Called at most as often as `layersNeeded` has returned. */
  readonly grow?: (() => LayerState) | undefined;
}

/**
 * Adds the batch in memory: each item to the oldest layer that claims it, or to the open layer if none does. Returns
 * one of Added per item.
 */
export function addTo(
  stack: LayerStack,
  positions: Positions,
  { lasts, multiset = false, onlyClaimed = false, grow = cannotGrow }: Adding,
): Outcome {
  const kind = kindOf(stack);
  const raise = byRun((layer, here, some, run) => {
    const closed = onlyClaimed || layer !== stack.open;
    const room = closed ? 0 : stack.next ? layer.roomIn(run) : Infinity;
    const wanted = some && typeof lasts !== 'number' ? pick(lasts, some) : lasts;
    return kind.raise(layer, here, { room, multiset, lasts: wanted });
  });
  const visit: Visit<Outcome> = (layer, here, some) => {
    const mayGrow = !onlyClaimed && layer === stack.open && stack.next !== undefined;
    const outcome = raise(layer, here, some);
    // The pass continues with the layer that this opens.
    if (mayGrow && outcome.answers.includes(LEFT)) grow();
    return outcome;
  };
  return change(stack, positions, visit, LEFT);
}

function cannotGrow(): never {
  throw new RangeError('the batch needs another layer, and none has been made for it');
}
