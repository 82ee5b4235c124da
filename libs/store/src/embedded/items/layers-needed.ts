import { foldDuplicates, select, type Positions } from '#bloom';
import { full, hostsFull } from '../../refusals.js';
import type { SyncPlan } from '../../port/index.js';
import type { FilterState, SyncState } from '../filters/filter-state.js';
import type { LayerStack } from '../layers/layer-stack.js';
import { claims, positionsOn } from './passes.js';
import { countInRuns } from './runs.js';
import { countOf, indexesOf } from './subsets.js';

/**
 * The number of layers that the filter may have to add for the batch. Throws FILTER_FULL if the batch's new items would
 * bring the filter above twice its capacity. In a filter that grows, throws it if they would exceed the capacity of the
 * last layer. If there are several runs of segments, each run has its own share of these limits.
 *
 * With `begun`, it never throws: an earlier part of the batch was added when there was room for all parts. If other
 * calls have taken the room since, the last layer takes more items than it should.
 */
export function layersNeeded({ filter, stack }: FilterState, positions: Positions, begun = false): number {
  const rooms = roomsIn(stack, filter);
  if (positions.count <= Math.min(...rooms)) return 0;
  const fresh = freshIn(stack, positions);
  const needed = layersToHold(stack, fresh, rooms);
  if (needed !== undefined) return needed;
  if (begun) return stack.plan.length - stack.layers.length;
  if (!stack.open.runs) throw full(filter, stack.sums().items, sumOf(fresh));
  const later = sharesFrom(stack, rooms.length);
  const run = fresh.findIndex((items, n) => items > (rooms[n] as number) + later);
  throw hostsFull(filter, Math.floor((rooms[run] as number) + later), fresh[run] as number);
}

/** Like `layersNeeded`, for the sync's layers. Returns undefined if they have no room for the batch. */
export function layersNeededBy(
  { stack, opened }: SyncState,
  own: LayerStack,
  positions: Positions,
): number | undefined {
  const rooms = roomsIn(stack, opened.plan);
  if (positions.count <= Math.min(...rooms)) return 0;
  return layersToHold(stack, freshIn(stack, positionsOn(stack, own, positions)), rooms);
}

/** How many new items fit in each run without another layer. Most filters have one run. */
function roomsIn(
  { open }: LayerStack,
  { layers, capacity }: Pick<SyncPlan, 'layers' | 'capacity'>,
): number[] {
  if (!layers) return [Math.max(0, 2 * capacity - open.tally.items)];
  if (!open.runs) return [open.room];
  return Array.from(open.runs, (_, run) => open.roomIn(run));
}

/** How many of a batch's items in each run are in no layer. Equal items count once. */
function freshIn(stack: LayerStack, positions: Positions): Uint32Array {
  const distinct = foldDuplicates(positions)?.positions ?? positions;
  const fresh = claims(stack, distinct);
  const { runs } = stack.first;
  if (!runs) return Uint32Array.of(countOf(fresh, 0));
  return countInRuns(stack.first, select(distinct, indexesOf(fresh, 0)), runs.length);
}

/**
 * How many layers to add for `fresh` new items in each run, if `rooms` of them fit without another layer. Undefined if
 * the plan has too few layers.
 */
function layersToHold(stack: LayerStack, fresh: Uint32Array, rooms: readonly number[]): number | undefined {
  let needed = 0;
  for (let later = 0; fresh.some((items, run) => items > (rooms[run] as number) + later); needed++) {
    const next = stack.plan[stack.layers.length + needed];
    if (!next) return undefined;
    later += next.capacity / rooms.length;
  }
  return needed;
}

/** Each run's share of the layers that can still be added. */
function sharesFrom({ layers, plan }: LayerStack, runs: number): number {
  return plan.slice(layers.length).reduce((sum, { capacity }) => sum + capacity / runs, 0);
}

const sumOf = (counts: Uint32Array): number => counts.reduce((sum, count) => sum + count, 0);
