import { cellCount, type Layer } from '#bloom';
import type { Filter, FilterSpec, FilterStats } from './port/index.js';

/** The layers that a filter may have, oldest first; one if it does not grow. */
export function plannedLayers({
  layers,
  capacity,
  errorRate,
  geometry,
}: Pick<FilterSpec, 'layers' | 'capacity' | 'errorRate' | 'geometry'>): readonly [Layer, ...Layer[]] {
  const [first, ...later] = layers ?? [];
  return [first ?? { capacity, errorRate, geometry }, ...later];
}

/** Share of non-zero cells in all existing layers. */
export function fillOf(filter: Filter, { layers, nonZeroCells }: FilterStats): number {
  let cells = 0;
  for (const { geometry } of plannedLayers(filter).slice(0, layers.length)) cells += cellCount(geometry);
  return nonZeroCells / cells;
}

/** Sum of the capacities of all existing layers. */
export function capacityOf(filter: Filter, { layers }: FilterStats): number {
  return plannedLayers(filter)
    .slice(0, layers.length)
    .reduce((sum, { capacity }) => sum + capacity, 0);
}
