import { copiesIn, positionsOfHashes, relocate, select, type Positions } from '#bloom';
import { EPOCHS_OF_AGE } from '../age.js';
import { full } from '../refusals.js';
import { Removed } from '../store.js';
import { Kept } from '../syncs.js';
import type { FilterState, SyncState } from './filter-state.js';
import type { LayerList } from './layer-list.js';
import type { LayerState } from './layer-state.js';
import type { Lasts } from './aged-batches.js';
import { GONE } from './aged-cells.js';
import type { Ageing } from './ageing.js';
import type { LayerChange } from './journal.js';
import {
  addToAgedList,
  addToList,
  checkInList,
  countInList,
  epochsLeftInList,
  freshIn,
  layersToHold,
  removeFromList,
  type Outcome,
} from './list-batches.js';

/*
 * What a batch does in a filter: in its own list of layers and, while a sync is open, in the one that it fills. Positions are
 * those in the first of its own layers.
 */

/** One answer per item: 1 if some layer claims it, else 0. */
export function checkBatch({ list, sync }: FilterState, positions: Positions): Uint8Array {
  const present = checkInList(list, positions);
  if (!sync || !present.includes(0)) return present;
  const rest = indexesOf(present, 0);
  const listed = checkInList(sync.list, positionsOn(sync.list, list, positions, rest));
  for (let i = 0; i < rest.length; i++) present[rest[i] as number] = listed[i] as number;
  return present;
}

/** The smallest counter of each item, in the oldest layer where none is zero. */
export function countBatch({ list, sync }: FilterState, positions: Positions): Uint8Array {
  const counts = countInList(list, positions);
  if (!sync || !counts.includes(0)) return counts;
  const rest = indexesOf(counts, 0);
  const listed = countInList(sync.list, positionsOn(sync.list, list, positions, rest));
  for (let i = 0; i < rest.length; i++) counts[rest[i] as number] = listed[i] as number;
  return counts;
}

/**
 * Throws FILTER_FULL if the batch's new items would bring the filter above twice its capacity, or, if it grows, above what
 * its last layer takes. Changes nothing. Answers how many layers the filter may have to grow by for the batch.
 */
export function layersNeeded({ filter, list }: FilterState, positions: Positions): number {
  const { open } = list;
  const room = filter.layers ? open.room : Math.max(0, 2 * filter.capacity - open.tally.items);
  if (positions.count <= room) return 0;
  const fresh = freshIn(list, positions);
  const needed = layersToHold(list, fresh, room);
  if (needed === undefined) throw full(filter, list.sums().items, fresh);
  return needed;
}

/** As layersNeeded, of the list that a sync fills. Undefined if that has no room. */
export function layersNeededBy(sync: SyncState, own: LayerList, positions: Positions): number | undefined {
  const { list, opened } = sync;
  const { plan } = opened;
  const room = plan.layers ? list.open.room : Math.max(0, 2 * plan.capacity - list.open.tally.items);
  if (positions.count <= room) return 0;
  return layersToHold(list, freshIn(list, positionsOn(list, own, positions)), room);
}

/** Opens the next layer of the filter's own list, and of the one that a sync fills. */
export interface Growers {
  readonly own?: (() => LayerState) | undefined;
  readonly sync?: (() => LayerState) | undefined;
}

/** How a batch is added. */
export interface AddOptions {
  readonly grow?: Growers;
  /** Of a filter that ages: for how long the items are live; absent: for its whole age. */
  readonly ttlMs?: number | undefined;
}

/**
 * Adds the batch in memory. Answers one Added per item. What the list of a sync claims is not new, and changes nothing, but that it is
 * live for longer.
 */
export function addBatch(state: FilterState, positions: Positions, options: AddOptions = {}): Outcome {
  const { filter, list, sync, tally } = state;
  const { grow = {}, ttlMs } = options;
  const chosen = sync && unclaimedBy(sync.list, list, positions);
  const here = chosen ? select(positions, chosen) : positions;
  // Looked up before the filter's own list is changed.
  const kept = sync && lastsBeside(list, here, ttlMs);
  const own = addTo(list, here, {
    ...{ multiset: filter.semantics === 'multiset', grow: grow.own, lasts: list.age?.lasts(ttlMs) },
  });
  tally.added += own.added;
  tally.duplicate += positions.count + copiesIn(positions) - own.added;
  if (!sync) return own;
  const second = addTo(sync.list, positionsOn(sync.list, list, here), { grow: grow.sync, lasts: kept });
  sync.kept += second.added;
  const answers = chosen ? spread(own.answers, chosen, positions.count) : own.answers;
  const refreshed = chosen && list.age ? refreshListed(list, sync, positions, chosen, ttlMs) : [];
  return { answers, changes: [...own.changes, ...second.changes, ...refreshed] };
}

/** Adds a batch to one list. */
function addTo(
  list: LayerList,
  positions: Positions,
  {
    multiset = false,
    grow,
    lasts,
  }: { multiset?: boolean; grow?: (() => LayerState) | undefined; lasts?: Lasts | undefined },
): Outcome & { readonly added: number } {
  const { age } = list;
  return age
    ? addToAgedList(list, age, positions, lasts ?? age.lasts(), { grow })
    : addToList(list, positions, multiset, grow);
}

/**
 * For how long items that are added now live once a sync is committed: for the time that they are added for, or for the time
 * that they have left in the filter's own list if that is longer.
 */
function lastsBeside(list: LayerList, positions: Positions, ttlMs: number | undefined): Lasts | undefined {
  const { age } = list;
  const lasts = age?.lasts(ttlMs);
  if (!age || lasts === undefined || lasts >= EPOCHS_OF_AGE) return lasts;
  return Uint8Array.from(epochsLeftInList(list, age, positions), (left) => Math.max(left, lasts));
}

/** What the list of a sync claims, all but the items that are `chosen`, is live for longer wherever it is claimed. */
function refreshListed(
  list: LayerList,
  sync: SyncState,
  positions: Positions,
  chosen: Uint32Array,
  ttlMs: number | undefined,
): readonly LayerChange[] {
  const listed = indexesOf(spread(new Uint8Array(chosen.length).fill(1), chosen, positions.count), 0);
  const here = select(positions, listed);
  const kept = lastsBeside(list, here, ttlMs);
  return [
    { list, there: here, lasts: list.age?.lasts(ttlMs) },
    { list: sync.list, there: positionsOn(sync.list, list, here), lasts: kept },
  ].flatMap(({ list: { age }, list: of, there, lasts }) => {
    if (!age || lasts === undefined) return [];
    return addToAgedList(of, age, there, lasts, { onlyClaimed: true }).changes;
  });
}

/** Removes the batch in memory, from both lists; counting filters only. Answers one Removed per item. */
export function removeBatch({ list, sync, tally }: FilterState, positions: Positions): Outcome {
  const { answers, changes } = removeFromList(list, positions);
  const all = [...changes];
  if (sync) {
    const second = removeFromList(sync.list, positionsOn(sync.list, list, positions));
    all.push(...second.changes);
    for (let i = 0; i < answers.length; i++) {
      if (answers[i] === Removed.Absent) answers[i] = second.answers[i] as number;
      else if (second.answers[i] === Removed.Removed && sync.kept > 0) sync.kept--;
    }
  }
  let removed = 0;
  for (const answer of answers) if (answer === Removed.Removed) removed++;
  tally.removed += removed;
  tally.refused += positions.count - removed;
  return { answers, changes: all };
}

/**
 * Keeps the batch in memory: adds it to the list that a sync fills, but for the items that are `noted` as removed. Answers one
 * Kept per item.
 */
export function keepBatch(
  { list, sync }: FilterState & { sync: SyncState },
  positions: Positions,
  noted: Uint8Array | undefined,
  grow?: () => LayerState,
): Outcome {
  const chosen = noted && indexesOf(noted, 0);
  const here = chosen ? select(positions, chosen) : positions;
  const there = positionsOn(sync.list, list, here);
  const { own, answers, changes } = list.age
    ? keepAged(list, list.age, sync, here, there, grow)
    : { own: checkInList(list, here), ...addToList(sync.list, there, false, grow) };
  for (let i = 0; i < answers.length; i++) {
    if (answers[i] === 0 || own[i] === 0) continue;
    sync.kept++;
    answers[i] = Kept.Present;
  }
  if (!chosen) return { answers, changes };
  return { answers: spread(answers, chosen, positions.count, Kept.Forgotten), changes };
}

/**
 * Adds listed items to the list of a sync. A known item keeps the time that it has left, and a new one lives for a whole age.
 * An item that only the list of the sync claims lives for a whole age since the opening at least: it was listed before, and
 * has at least that time; or it is a false positive.
 */
function keepAged(
  list: LayerList,
  age: Ageing,
  { list: filled, opened }: SyncState,
  here: Positions,
  there: Positions,
  grow?: () => LayerState,
): Outcome & { readonly own: Uint8Array } {
  const left = epochsLeftInList(list, age, here);
  const own = Uint8Array.from(left, (epochs) => (epochs === GONE ? 0 : 1));
  const listed = own.includes(0) ? checkInList(filled, there) : own;
  const again = age.lastsSince(opened.openedAt);
  const lasts = Uint8Array.from(left, (epochs, i) => {
    if (epochs !== GONE) return epochs;
    return listed[i] === 1 ? again : age.lasts();
  });
  return { own, ...addToAgedList(filled, filled.age ?? age, there, lasts, { grow }) };
}

/** The items that a list does not claim. Undefined: all. `from` is the list of the positions. */
function unclaimedBy(list: LayerList, from: LayerList, positions: Positions): Uint32Array | undefined {
  const claimed = checkInList(list, positionsOn(list, from, positions));
  return claimed.includes(1) ? indexesOf(claimed, 0) : undefined;
}

/** The positions of items, all or some, in the first layer of a list, from those in the first layer of another. */
function positionsOn(list: LayerList, from: LayerList, positions: Positions, some?: Uint32Array): Positions {
  const [{ geometry }, { geometry: other }] = [list.plan[0], from.plan[0]];
  const same = geometry.hashes === other.hashes && geometry.pageCells === other.pageCells;
  return same ? relocate(positions, geometry, some) : positionsOfHashes(positions.hash, geometry, some);
}

function indexesOf(values: Uint8Array, value: number): Uint32Array {
  const indexes = new Uint32Array(values.length);
  let count = 0;
  for (let i = 0; i < values.length; i++) if (values[i] === value) indexes[count++] = i;
  return indexes.subarray(0, count);
}

/** The answers of some items among all, of which the others have `rest`. */
function spread(answers: Uint8Array, indexes: Uint32Array, count: number, rest = 0): Uint8Array {
  const all = new Uint8Array(count).fill(rest);
  for (let i = 0; i < indexes.length; i++) all[indexes[i] as number] = answers[i] as number;
  return all;
}
