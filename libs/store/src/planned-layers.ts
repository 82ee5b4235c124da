import { assertSpread, cellCount, itemsPerPageFromFill, type Layer, PagedErrorRate } from '#bloom';
import type { Filter, FilterSpec, FilterStats, LayerStats, SyncPlan } from './port/index.js';
import { syncUnsupported } from './refusals.js';

/** The layers that a filter may have, oldest first. One if it doesn't grow. */
export function plannedLayers({
  layers,
  capacity,
  errorRate,
  geometry,
}: Pick<FilterSpec, 'layers' | 'capacity' | 'errorRate' | 'geometry'>): readonly [Layer, ...Layer[]] {
  const [first, ...later] = layers ?? [];
  return [first ?? { capacity, errorRate, geometry }, ...later];
}

/**
 * Throws SYNC_UNSUPPORTED for a multiset. Throws RangeError if a layer in the plan has a different hash scheme or
 * number of runs than the filter. A sync finds its items by the filter's hashes and runs.
 */
export function assertSyncable(filter: Filter, plan: SyncPlan): void {
  if (filter.semantics === 'multiset') throw syncUnsupported(filter);
  const { hashScheme, spread } = filter.geometry;
  for (const { geometry } of [plan, ...(plan.layers ?? [])]) {
    assertSpread(geometry);
    if (geometry.hashScheme === hashScheme && geometry.spread === spread) continue;
    throw new RangeError(
      `the layers of a sync need hash scheme ${hashScheme} and spread ${spread}, not ${geometry.hashScheme} and ${geometry.spread}`,
    );
  }
}

/** Share of non-zero cells in all existing layers. */
export function fillOf(filter: Filter, { layers, nonZeroCells }: FilterStats): number {
  let cells = 0;
  for (const { geometry } of plannedLayers(filter).slice(0, layers.length)) cells += cellCount(geometry);
  return nonZeroCells / cells;
}

/** The current false-positive rate, estimated from the fill of all existing layers. */
export function errorRateOf(filter: Filter, { layers }: FilterStats): number {
  const planned = plannedLayers(filter);
  return joinedErrorRate(layers.map((layer, number) => layerErrorRate(layer, planned[number] ?? planned[0])));
}

/** The false-positive rate of layers with these rates. */
export function joinedErrorRate(rates: readonly number[]): number {
  // With one layer, this must be exactly the layer's own rate.
  return rates.length === 1
    ? (rates[0] as number)
    : 1 - rates.reduce((absent, rate) => absent * (1 - rate), 1);
}

/** A layer's current false-positive rate, estimated from its fill. */
export function layerErrorRate({ nonZeroCells }: LayerStats, { geometry }: Layer): number {
  const { pageCells, hashes } = geometry;
  const itemsPerPage = itemsPerPageFromFill(nonZeroCells / cellCount(geometry), pageCells, hashes);
  return PagedErrorRate.of(pageCells, hashes).at(itemsPerPage);
}

/** Total capacity of all existing layers. */
export function capacityOf(filter: Filter, { layers }: FilterStats): number {
  return plannedLayers(filter)
    .slice(0, layers.length)
    .reduce((sum, { capacity }) => sum + capacity, 0);
}
