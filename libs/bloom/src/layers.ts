import type { Geometry } from './geometry.js';
import { filterBytes } from './geometry.js';
import {
  assertSizing,
  geometryOf,
  MAX_CAPACITY,
  pageShapeFor,
  type PageShape,
  type Segmentation,
  type Sizing,
} from './sizing.js';

/**
 * One of the filters that a filter which grows consists of: an item is in one of them. All have the filter's seed, the same
 * page size and number of hashes, so that an item has the same cells in each, in another page, and a whole multiple of the first
 * one's segments, so that what is in a segment of the first is in one run of theirs.
 *
 * A shape of its own for each would take up to 13 % less memory in the later ones, and drawing the cells anew takes 0.27 µs an
 * item and layer, three times what looking them up takes.
 */
export interface Layer {
  /** Items after which it is closed, and the next one takes what is new. */
  readonly capacity: number;
  /** Share of absent items that may test positive in it, at capacity. */
  readonly errorRate: number;
  readonly geometry: Geometry;
}

/** Each layer is so much larger than the one before. */
const GROWTH = 2.7;

/**
 * Each layer's share of the filter's error rate. As an absent item is asked of all layers, the rates add up (Almeida et
 * al. 2007, whose shares fall by a constant factor). With most in the first, one who knows the capacity pays little for
 * growth that is not needed.
 */
const SHARES = [0.6, 0.15, 0.1, 0.05, 0.05, 0.05];

/**
 * The layers of a filter that begins with `capacity` items and grows, at most `errorRate` for all of them together. All
 * layers but the first are left out from that on which would bring them above `maxBytes` together. Throws as
 * planGeometry.
 */
export function planLayers(
  sizing: Sizing,
  segmentation: Segmentation,
  maxBytes: number,
): [Layer, ...Layer[]] {
  assertSizing(sizing);
  const shape = pageShapeFor(sizing.errorRate * (SHARES[0] as number));
  // However small the first is: the number of segments is for all that it may come to hold.
  const spread = { ...segmentation, minSegmentBytes: 0 };
  const layers = [layerOf(sizing, 0, spread, shape)] as [Layer, ...Layer[]];
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

/** Of the segments of a layer, how many are in each segment of the filter. */
export function piecesOf(layer: Pick<Layer, 'geometry'>, first: Geometry): number {
  return layer.geometry.segments / first.segments;
}
