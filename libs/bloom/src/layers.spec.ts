import { describe, expect, it } from '@jest/globals';
import { filterBytes, segmentBytes } from './geometry.js';
import { piecesOf, planLayers } from './layers.js';
import { PagedErrorRate } from './error-rate.js';
import { positionsOf, relocate } from './positions.js';
import { MIN_ERROR_RATE, planGeometry } from './sizing.js';

const WHOLE = { maxSegmentBytes: 2 ** 24, minSegments: 1, minSegmentBytes: 1 };
const COUNTING = { cellBits: 4 } as const;
const SEED = new Uint8Array(16).fill(7);

describe('planLayers', () => {
  it.each([1e-1, 1e-2, 1e-3, 1e-6, MIN_ERROR_RATE])(
    'keeps the error rate at %d when all layers are full',
    (errorRate) => {
      const layers = planLayers({ capacity: 10_000, errorRate, ...COUNTING }, WHOLE, Infinity);
      expect(layers).toHaveLength(6);
      let whole = 0;
      for (const { capacity, geometry } of layers) {
        const { pageCells, hashes, pagesPerSegment, segments } = geometry;
        whole += PagedErrorRate.of(pageCells, hashes).at(capacity / (pagesPerSegment * segments));
      }
      expect(whole).toBeLessThanOrEqual(errorRate * (1 + 1e-9));
      expect(whole).toBeGreaterThan(0.9 * errorRate);
    },
  );

  it.each([
    [1e-2, 1.11, 1.64],
    [1e-3, 1.07, 1.43],
    [1e-4, 1.06, 1.32],
  ])('takes little more memory than one filter with the same capacity at %d', (errorRate, never, grown) => {
    const layers = planLayers({ capacity: 100_000, errorRate, ...COUNTING }, WHOLE, Infinity);
    const fitting = (capacity: number) =>
      filterBytes(planGeometry({ capacity, errorRate, ...COUNTING }, WHOLE));
    // Whole pages, and page sizes that change with the rate, add a little to the classic figures.
    expect(filterBytes(layers[0].geometry) / fitting(100_000)).toBeLessThan(never * 1.03);
    let bytes = 0;
    let capacity = 0;
    for (const layer of layers) {
      bytes += filterBytes(layer.geometry);
      capacity += layer.capacity;
      expect(bytes / fitting(capacity)).toBeLessThan(grown * 1.2);
    }
  });

  it('makes every layer 2.7 times as large as the previous one', () => {
    const layers = planLayers({ capacity: 1_000, errorRate: 1e-3, ...COUNTING }, WHOLE, Infinity);
    expect(layers.map(({ capacity }) => capacity)).toEqual([1_000, 2_700, 7_291, 19_684, 53_145, 143_490]);
  });

  it('omits layers beyond the size limit, but never the first', () => {
    const sizing = { capacity: 1_000, errorRate: 1e-3, ...COUNTING };
    const all = planLayers(sizing, WHOLE, Infinity);
    const three = all.slice(0, 3).reduce((sum, { geometry }) => sum + filterBytes(geometry), 0);
    expect(planLayers(sizing, WHOLE, three)).toEqual(all.slice(0, 3));
    expect(planLayers(sizing, WHOLE, three - 1)).toEqual(all.slice(0, 2));
    expect(planLayers(sizing, WHOLE, 1)).toEqual(all.slice(0, 1));
  });

  it('throws for impossible sizes', () => {
    expect(() => planLayers({ capacity: 0, errorRate: 1e-3, ...COUNTING }, WHOLE, Infinity)).toThrow(
      RangeError,
    );
    expect(() => planLayers({ capacity: 1, errorRate: 1e-10, ...COUNTING }, WHOLE, Infinity)).toThrow(
      RangeError,
    );
  });

  it.each([1, 3, 12])(
    'maps each segment of the first layer to one run of segments in every other: %d segments',
    (minSegments) => {
      const segmentation = { maxSegmentBytes: 2 ** 16, minSegments, minSegmentBytes: 1 };
      const layers = planLayers({ capacity: 60_000, errorRate: 1e-3, ...COUNTING }, segmentation, Infinity);
      const [first] = layers;
      const keys = Array.from({ length: 3_000 }, (_, n) => `item ${n}`);
      const positions = positionsOf(keys, SEED, first.geometry);
      const indexes = Uint32Array.from(keys.keys()).filter((n) => n % 3 !== 1);
      for (const layer of layers) {
        const pieces = piecesOf(layer, first.geometry);
        expect(Number.isInteger(pieces)).toBe(true);
        expect(segmentBytes(layer.geometry)).toBeLessThanOrEqual(2 ** 16);
        const relocated = relocate(positions, layer.geometry, indexes);
        const some = keys.filter((_, n) => n % 3 !== 1);
        expect(relocated).toEqual(positionsOf(some, SEED, layer.geometry));
        expect(relocate(positions, layer.geometry)).toEqual(positionsOf(keys, SEED, layer.geometry));
        const segments = Array.from(relocated.segment, (segment) => Math.floor(segment / pieces));
        expect(segments).toEqual(Array.from(indexes, (index) => positions.segment[index]));
      }
      expect(piecesOf(layers.at(-1) ?? first, first.geometry)).toBeGreaterThan(1);
    },
  );
});
