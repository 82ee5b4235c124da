import { copiesIn, select, type Positions } from '#bloom';
import { EPOCHS_OF_AGE } from '../../age.js';
import { Added, Removed, Kept, type AddOptions } from '../../port/index.js';
import type { Ageing } from '../layers/ageing.js';
import { isSyncing, type FilterState, type SyncState, type Syncing } from '../filters/filter-state.js';
import type { LayerStack } from '../layers/layer-stack.js';
import type { LayerState } from '../layers/layer-state.js';
import type { Lasts, Outcome } from './cell-kind.js';
import { addTo, claims, epochsLeft, positionsOn, removeFrom, least } from './passes.js';
import { countOf, indexesOf, put } from './subsets.js';

/*
 * The verbs on a filter. They work on its own layers and, during a sync, on the sync's layers. Positions refer to the
 * first of the filter's own layers.
 */

/** One answer per item: 1 if some layer claims it, or 0 if none does. */
export function checkBatch(state: FilterState, positions: Positions): Uint8Array {
  return readBoth(state, positions, claims);
}

/** The smallest counter of each item in the oldest layer that claims it, or 0. */
export function countBatch(state: FilterState, positions: Positions): Uint8Array {
  return readBoth(state, positions, least);
}

/** For items that are 0 in the filter's own layers, reads the sync's layers. */
function readBoth({ stack, sync }: FilterState, positions: Positions, read: typeof claims): Uint8Array {
  const answers = read(stack, positions);
  if (!sync || !answers.includes(0)) return answers;
  const rest = indexesOf(answers, 0);
  return put(answers, rest, read(sync.stack, positionsOn(sync.stack, stack, positions, rest)));
}

/** Functions that open the next layer of the filter and of the sync. */
export interface Growers {
  readonly own?: (() => LayerState) | undefined;
  readonly sync?: (() => LayerState) | undefined;
}

interface BatchOptions extends Pick<AddOptions, 'ttlMs' | 'onlyAbsent'> {
  readonly grow?: Growers;
}

/** The outcome of an empty batch, which is common when a caller lists the same items again. */
const NOTHING: Outcome = { answers: new Uint8Array(0), changes: [] };

/**
 * Adds the batch in memory. Returns one of Added per item. An item that the sync's layers claim is not new, and isn't
 * stored. If the filter ages, extends the item's lifetime in the layers that claim it.
 */
export function addBatch(
  state: FilterState,
  positions: Positions,
  { grow = {}, ttlMs, onlyAbsent = false }: BatchOptions = {},
): Outcome {
  const { filter, stack, tally } = state;
  const lasts = stack.age?.lasts(ttlMs) ?? 0;
  const multiset = filter.semantics === 'multiset' && !onlyAbsent;
  const outcome = isSyncing(state)
    ? addUnlisted(state, positions, lasts, grow)
    : addTo(stack, positions, { lasts, multiset, grow: grow.own });
  const added = countOf(outcome.answers, Added.New);
  tally.added += added;
  tally.duplicate += positions.count + copiesIn(positions) - added;
  return outcome;
}

/** Adds items to the filter's own layers and to the sync's, unless the sync's layers claim them. */
function addUnlisted(state: Syncing, positions: Positions, lasts: number, grow: Growers): Outcome {
  const { stack, sync } = state;
  const listed = claims(sync.stack, positionsOn(sync.stack, stack, positions));
  if (!listed.includes(1)) return addToBoth(state, positions, lasts, { grow });
  const unlisted = indexesOf(listed, 0);
  const { answers, changes, there } = addToBoth(state, select(positions, unlisted), lasts, { grow });
  const known = stack.age && select(positions, indexesOf(listed, 1));
  const refreshed = known ? addToBoth(state, known, lasts, { onlyClaimed: true }).changes : [];
  return {
    answers: put(new Uint8Array(positions.count), unlisted, answers),
    changes: [...changes, ...refreshed],
    ...(there && { there: put(new Uint8Array(positions.count), unlisted, there) }),
  };
}

/** Adds items to both kinds of layers. The answers come from the filter's own layers. */
function addToBoth(
  { stack, sync }: Syncing,
  positions: Positions,
  lasts: number,
  { grow = {}, onlyClaimed = false }: { readonly grow?: Growers; readonly onlyClaimed?: boolean },
): Outcome {
  if (positions.count === 0) return NOTHING;
  // Must run before the filter's own layers change.
  const lastsThere = lastsBeside(stack, positions, lasts);
  const own = addTo(stack, positions, { lasts, onlyClaimed, grow: grow.own });
  const there = positionsOn(sync.stack, stack, positions);
  const second = addTo(sync.stack, there, { lasts: lastsThere, onlyClaimed, grow: grow.sync });
  sync.kept += countOf(second.answers, Added.New);
  return { answers: own.answers, changes: [...own.changes, ...second.changes], there: second.answers };
}

/**
 * How long items live in the sync's layers: `lasts`, or their remaining time in the filter's own layers if that is
 * longer.
 */
function lastsBeside(stack: LayerStack, positions: Positions, lasts: number): Lasts {
  const { age } = stack;
  if (!age || lasts >= EPOCHS_OF_AGE) return lasts;
  return epochsLeft(stack, age, positions).map((left) => Math.max(left - 1, lasts));
}

/**
 * Removes the batch in memory, from the filter's own layers and from the sync's. Counting filters only. Returns one of
 * Removed per item.
 */
export function removeBatch({ stack, sync, tally }: FilterState, positions: Positions): Outcome {
  const { answers, changes } = removeFrom(stack, positions);
  const all = [...changes];
  let there: Uint8Array | undefined;
  if (sync) {
    const second = removeFrom(sync.stack, positionsOn(sync.stack, stack, positions));
    all.push(...second.changes);
    there = second.answers;
    for (let i = 0; i < answers.length; i++) {
      if (answers[i] === Removed.Absent) answers[i] = second.answers[i] as number;
      else if (second.answers[i] === Removed.Removed && sync.kept > 0) sync.kept--;
    }
  }
  const removed = countOf(answers, Removed.Removed);
  tally.removed += removed;
  tally.refused += positions.count - removed;
  return { answers, changes: all, ...(there && { there }) };
}

/**
 * Keeps the batch in memory: adds it to the sync's layers, except for the items that are `noted` as removed. Returns
 * one of Kept per item.
 */
export function keepBatch(
  { stack, sync }: Syncing,
  positions: Positions,
  noted: Uint8Array | undefined,
  grow?: () => LayerState,
): Outcome {
  const chosen = noted && indexesOf(noted, 0);
  const here = chosen ? select(positions, chosen) : positions;
  const there = positionsOn(sync.stack, stack, here);
  const left = stack.age ? epochsLeft(stack, stack.age, here) : claims(stack, here);
  const lasts = stack.age ? lastsOnceKept(stack.age, sync, left, there) : 0;
  const { answers, changes } = addTo(sync.stack, there, { lasts, grow });
  const stored = answers.slice();
  for (let i = 0; i < answers.length; i++) {
    if (answers[i] !== Added.New || left[i] === 0) continue;
    sync.kept++;
    answers[i] = Kept.Present;
  }
  if (!chosen) return { answers, changes, there: stored };
  return {
    answers: put(new Uint8Array(positions.count).fill(Kept.Forgotten), chosen, answers),
    changes,
    there: put(new Uint8Array(positions.count), chosen, stored),
  };
}

/**
 * How long listed items live. A known item keeps its remaining time, and a new item lives for the full age. An item
 * that only the sync's layers claim lives for at least the full age, counted from the opening. It was either listed
 * before and has at least that time, or is a false positive.
 */
function lastsOnceKept(age: Ageing, { stack, opened }: SyncState, left: Uint8Array, there: Positions): Lasts {
  const listed = left.includes(0) ? claims(stack, there) : left;
  const again = age.lastsSince(opened.openedAt);
  return left.map((epochs, i) => {
    if (epochs > 0) return epochs - 1;
    return listed[i] === 1 ? again : age.lasts();
  });
}
