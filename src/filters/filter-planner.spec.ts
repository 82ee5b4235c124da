import { describe, expect, it } from '@jest/globals';
import { filterBytes, HOST_HASH_SCHEME, type Segmentation } from '#bloom';
import type { Filter, FilterSpec } from '#store';
import type { Config } from '../config/config.js';
import type { Store } from '../store/store.token.js';
import { FilterPlanner } from './filter-planner.js';

/** A cluster's segmentation, with at least four segments in new filters. */
const CLUSTER: Segmentation = { maxSegmentBytes: 2 ** 20, minSegments: 4, minSegmentBytes: 1_024 };

function planner(segmentation: Segmentation, maxFilterBytes = 2 ** 30, runs = 1): FilterPlanner {
  return new FilterPlanner({ segmentation, runs } as Store, { maxFilterBytes } as Config);
}

/** A filter planned with this segmentation, with hash scheme 1. */
function filterOf(growth: 'auto' | 'none', segmentation: Segmentation): Filter {
  const sizing = { type: 'counting', capacity: 100_000, errorRate: 0.001 } as const;
  const { geometry, layers } = planner(segmentation).plan({ ...sizing, growth });
  const spec: Partial<FilterSpec> & Partial<Filter> = {
    ...sizing,
    geometry: { ...geometry, hashScheme: 1 },
    ...(layers && { layers }),
    spread: geometry.segments,
  };
  return spec as Filter;
}

describe.each(['auto', 'none'] as const)('a sync’s plan, growth %s', (growth) => {
  const filter = filterOf(growth, CLUSTER);
  const ONE = { ...CLUSTER, minSegments: 1 };

  it('has the filter’s parameters by default, and its hash scheme in every layer', () => {
    const { capacity, errorRate, geometry, layers } = planner(ONE).planSync(filter, {});
    expect({ capacity, errorRate }).toEqual({ capacity: 100_000, errorRate: 0.001 });
    expect(geometry).toEqual(filter.geometry);
    expect(layers?.length).toBe(filter.layers?.length);
    const planned = layers ?? [{ geometry }];
    expect(planned[0]?.geometry).toEqual(geometry);
    expect(new Set(planned.map((layer) => layer.geometry.hashScheme))).toEqual(new Set([1]));
  });

  it.each([1, 1_000, 1_000_000, 10_000_000])(
    'has a multiple of the filter’s segments, for %d items',
    (capacity) => {
      for (const segmentation of [ONE, CLUSTER, { ...CLUSTER, minSegments: 7 }]) {
        const { geometry, layers } = planner(segmentation).planSync(filter, { capacity });
        const planned = layers ?? [{ geometry }];
        expect(planned.map((layer) => layer.geometry.segments % filter.spread)).toEqual(planned.map(() => 0));
      }
    },
  );

  it('has the limits of a filter', () => {
    const bytes = filterBytes(filter.geometry);
    expect(planner(CLUSTER, bytes).planSync(filter, {}).layers?.length ?? 1).toBe(1);
    expect(() => planner(CLUSTER, bytes - 1).planSync(filter, {})).toThrow(/MAX_FILTER_BYTES allows/);
  });
});

it.each([
  [1, { ...CLUSTER, minSegments: 1 }],
  [3, { ...CLUSTER, minSegments: 12 }],
])('a set with perHost keeps a host’s URLs together, in one run for each of %d servers', (runs, where) => {
  for (const capacity of [1, 100_000, 10_000_000]) {
    const sizing = { type: 'counting', capacity, errorRate: 0.001, growth: 'auto' } as const;
    const { geometry, layers = [] } = planner(where, 2 ** 40, runs).plan({ ...sizing, perHost: {} });
    expect(layers[0]?.geometry).toEqual(geometry);
    for (const layer of layers)
      expect(layer.geometry).toMatchObject({ hashScheme: HOST_HASH_SCHEME, spread: runs });
    if (capacity === 1) expect(geometry.segments).toBe(runs);
    expect(planner(where, 2 ** 40, runs).plan(sizing).geometry).not.toHaveProperty('spread');
  }
});

it.each([1, 100_000, 10_000_000])('a sync’s plan keeps each host’s run, for %d items', (capacity) => {
  const filter = filterOf('auto', { ...CLUSTER, spread: 3 });
  const byHost = { ...filter, geometry: { ...filter.geometry, hashScheme: HOST_HASH_SCHEME } };
  const { geometry, layers = [] } = planner(CLUSTER).planSync(byHost, { capacity });
  expect(layers[0]?.geometry).toEqual(geometry);
  for (const layer of layers) {
    expect(layer.geometry).toMatchObject({ hashScheme: HOST_HASH_SCHEME, spread: 3 });
    expect(layer.geometry.segments % 3).toBe(0);
  }
});
