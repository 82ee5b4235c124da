import { describe, expect, it } from '@jest/globals';
import { filterBytes, planGeometry, planLayers, type Geometry } from '#bloom';
import { curveOf } from '../../libs/dashboard/src/error-rate.js';
import type { Whole } from '../../libs/dashboard/src/sets.js';

const ONE = { maxSegmentBytes: 2 ** 26, minSegments: 1, minSegmentBytes: 0 };

const described = (
  first: Geometry,
  layers: readonly { readonly capacity: number; readonly geometry: Geometry }[],
  more: object = {},
): Whole =>
  ({
    type: first.cellBits === 1 ? 'standard' : 'counting',
    growth: layers.length > 1 ? 'auto' : 'none',
    geometry: { pageSize: first.pageCells, hashes: first.hashes },
    layers: layers.map(({ capacity, geometry }) => ({ capacity, memoryBytes: filterBytes(geometry) })),
    ...more,
  }) as unknown as Whole;

const at = ({ items, rates }: ReturnType<typeof curveOf>, count: number): number =>
  rates[items.findIndex((value) => value >= count)] ?? NaN;

describe('the curve of error rates', () => {
  it.each([
    ['counters', 4, {}],
    ['bits', 1, {}],
    ['ages', 8, { maxAgeSeconds: 86_400 }],
  ] as const)('of %s reaches the promised rate when the filter is full', (_, cellBits, more) => {
    for (const errorRate of [0.01, 1e-4, 1e-6]) {
      const capacity = 100_000;
      const geometry = planGeometry({ capacity, errorRate, cellBits: cellBits }, ONE);
      const curve = curveOf(described(geometry, [{ capacity, geometry }], more));
      expect(at(curve, 0)).toBe(0);
      expect(at(curve, capacity)).toBeLessThanOrEqual(errorRate);
      expect(at(curve, capacity)).toBeGreaterThan(0.8 * errorRate);
      expect(curve.items.at(-1)).toBe(2 * capacity);
      expect([...curve.rates].sort((a, b) => a - b)).toEqual(curve.rates);
    }
  });

  it('of a filter that has grown adds up its layers', () => {
    const sizing = { capacity: 10_000, errorRate: 0.01, cellBits: 4 } as const;
    const layers = planLayers(sizing, ONE, 2 ** 40);
    const curve = curveOf(described(layers[0].geometry, layers));
    const total = layers.reduce((sum, { capacity }) => sum + capacity, 0);
    expect(curve.items.at(-1)).toBe(total);
    expect(curve.rates.at(-1)).toBeLessThanOrEqual(0.01);
    expect(curve.rates.at(-1)).toBeGreaterThan(0.009);
  });
});
