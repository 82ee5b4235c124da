import type { Geometry } from './geometry.js';
import { filterBytes } from './geometry.js';
import {
  assertSizing,
  geometryOf,
  inRuns,
  MAX_CAPACITY,
  pageShapeFor,
  type PageShape,
  type Segmentation,
  type Sizing,
} from './sizing.js';

/**
 * One of the filters that make up a growing filter. An item is in exactly one of them. All layers share the seed, the
 * page size and the number of hashes. So an item has the same cells in every layer, but in a different page. The number
 * of segments is a multiple of the first layer's. So the items in one of the first layer's segments lie in one run of
 * segments in each other layer.
 *
 * A separate page shape for each layer would save up to 13 % of memory in later layers. But redrawing the cells would
 * cost 0.27 µs per item and layer, three times as much as the lookup.
 */
export interface Layer {
  /** The number of items at which this layer closes and new items go to the next. */
  readonly capacity: number;
  /** The share of absent items that may test positive in this layer at capacity. */
  readonly errorRate: number;
  readonly geometry: Geometry;
}

/** The ratio of each layer's capacity to the previous layer's. */
const GROWTH = 2.7;

/**
 * Each layer's share of the filter's error rate. Checking an absent item tests all layers, so the rates add up (Almeida
 * et al. 2007, whose shares fall by a constant factor). The first layer has the largest share, so callers who know
 * their capacity pay little for growth that they don't need.
 */
const SHARES = [0.6, 0.15, 0.1, 0.05, 0.05, 0.05];

/**
 * Plans the layers for a filter that starts with `capacity` items and grows, with a total error rate of at most
 * `errorRate`. Stops before a layer that would push the total above `maxBytes`, but always includes the first. Throws
 * RangeError like planGeometry.
 */
export function planLayers(
  sizing: Sizing,
  segmentation: Segmentation,
  maxBytes: number,
): [Layer, ...Layer[]] {
  assertSizing(sizing);
  const shape = pageShapeFor(sizing.errorRate * (SHARES[0] as number));
  // The first layer sets the number of segments for the fully grown filter, so it may have very small segments.
  const split = inRuns({ ...segmentation, minSegmentBytes: 0 });
  const layers = [layerOf(sizing, 0, split, shape)] as [Layer, ...Layer[]];
  const { segments } = layers[0].geometry;
  let bytes = filterBytes(layers[0].geometry);
  for (let number = 1; number < SHARES.length; number++) {
    const layer = layerOf(
      sizing,
      number,
      { ...segmentation, minSegments: segments, minSegmentBytes: 0 },
      shape,
    );
    bytes += filterBytes(layer.geometry);
    if (bytes > maxBytes || layer.capacity > MAX_CAPACITY) break;
    layers.push(layer);
  }
  return layers;
}

function layerOf(sizing: Sizing, number: number, segmentation: Segmentation, shape: PageShape): Layer {
  const capacity = Math.ceil(sizing.capacity * GROWTH ** number);
  const errorRate = sizing.errorRate * (SHARES[number] as number);
  const geometry = geometryOf({ capacity, errorRate, cellBits: sizing.cellBits }, segmentation, shape);
  return { capacity, errorRate, geometry };
}

/** How many of the layer's segments correspond to one of the filter's. */
export function piecesOf(layer: Pick<Layer, 'geometry'>, first: Geometry): number {
  return layer.geometry.segments / first.segments;
}
