import { PagedErrorRate } from '../../bloom/src/error-rate.js';
import { isLost, roomOf, type Whole } from './sets.js';

/** The numbers that determine a layer's error rate. */
interface CurveLayer {
  readonly capacity: number;
  readonly pages: number;
}

/** Error rates by number of items. */
export interface Curve {
  readonly items: readonly number[];
  readonly rates: readonly number[];
}

const POINTS = 120;
/** A filter that doesn't grow refuses items at twice its capacity. */
const MOST_OF_CAPACITY = 2;

/**
 * A set's error rates from empty to full, by the page-aware formula that sized it. Layers fill one after another. Their
 * rates add up, because looking up an absent item checks every layer.
 */
export function curveOf(described: Whole): Curve {
  const { geometry, growth } = described;
  const rate = PagedErrorRate.of(geometry.pageSize, geometry.hashes);
  const layers = layersOf(described);
  const most = roomOf(described) * (growth === 'auto' ? 1 : MOST_OF_CAPACITY);
  const items = Array.from({ length: POINTS + 1 }, (_, i) => (most * i) / POINTS);
  return { items, rates: items.map((count) => rateWith(count, layers, rate)) };
}

function rateWith(items: number, layers: readonly CurveLayer[], rate: PagedErrorRate): number {
  let left = items;
  let sum = 0;
  for (const [i, { capacity, pages }] of layers.entries()) {
    // The last layer takes all remaining items, even above its capacity.
    const held = i === layers.length - 1 ? left : Math.min(left, capacity);
    sum += rate.at(held / pages);
    left -= held;
  }
  return Math.min(1, sum);
}

/**
 * Size of the stamp with which a page of a set that ages begins. A counter takes a byte there. See
 * libs/store/src/age.ts.
 */
const STAMP_BYTES = 4;

function layersOf(described: Whole): CurveLayer[] {
  if (isLost(described)) return [];
  const { type, geometry, layers } = described;
  const ages = 'maxAgeSeconds' in described;
  const bits = ages ? 8 : type === 'counting' ? 4 : 1;
  const pageBytes = (geometry.pageSize * bits) / 8 + (ages ? STAMP_BYTES : 0);
  return layers.map(({ capacity, memoryBytes }) => ({ capacity, pages: memoryBytes / pageBytes }));
}
