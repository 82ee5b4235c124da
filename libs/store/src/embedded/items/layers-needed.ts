import { foldDuplicates, type Positions } from '#bloom';
import { full } from '../../refusals.js';
import type { SyncPlan } from '../../port/index.js';
import type { FilterState, SyncState } from '../filters/filter-state.js';
import type { LayerList } from '../layers/layer-list.js';
import { claims, positionsOn } from './passes.js';
import { countOf } from './subsets.js';

/**
 * The number of layers that the filter may have to add for the batch. Throws FILTER_FULL if the batch's new items would
 * bring the filter above twice its capacity or, if it grows, above the capacity of its last layer.
 */
export function layersNeeded({ filter, list }: FilterState, positions: Positions): number {
  const room = roomIn(list, filter);
  if (positions.count <= room) return 0;
  const fresh = freshIn(list, positions);
  const needed = layersToHold(list, fresh, room);
  if (needed === undefined) throw full(filter, list.sums().items, fresh);
  return needed;
}

/** Like `layersNeeded`, for the sync's layers. Undefined if they have no room for the batch. */
export function layersNeededBy(
  { list, opened }: SyncState,
  own: LayerList,
  positions: Positions,
): number | undefined {
  const room = roomIn(list, opened.plan);
  if (positions.count <= room) return 0;
  return layersToHold(list, freshIn(list, positionsOn(list, own, positions)), room);
}

/** The number of new items that fit without another layer. */
function roomIn({ open }: LayerList, { layers, capacity }: Pick<SyncPlan, 'layers' | 'capacity'>): number {
  return layers ? open.room : Math.max(0, 2 * capacity - open.tally.items);
}

/** The number of items of a batch that no layer claims. Equal items count once. */
function freshIn(list: LayerList, positions: Positions): number {
  const distinct = foldDuplicates(positions)?.positions ?? positions;
  return countOf(claims(list, distinct), 0);
}

/**
 * The number of layers to add for `fresh` new items, if `room` of them fit without. Undefined if the plan has too few
 * layers.
 */
function layersToHold(list: LayerList, fresh: number, room: number): number | undefined {
  let needed = 0;
  for (let left = room; fresh > left; needed++) {
    const next = list.plan[list.layers.length + needed];
    if (!next) return undefined;
    left += next.capacity;
  }
  return needed;
}
