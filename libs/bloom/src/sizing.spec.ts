import { describe, expect, it, jest } from '@jest/globals';
import { classicCellsPerItem, PagedErrorRate } from './error-rate.js';
import { cellCount, filterBytes, pageBytes, segmentBytes, type Geometry } from './geometry.js';
import {
  capacityAt,
  MAX_CAPACITY,
  MAX_ERROR_RATE,
  MIN_ERROR_RATE,
  pageShapeFor,
  planGeometry,
  type Segmentation,
} from './sizing.js';

const MIB = 2 ** 20;
const single: Segmentation = { maxSegmentBytes: 16 * MIB, minSegments: 1, minSegmentBytes: 1 };
const cluster: Segmentation = { maxSegmentBytes: 16 * MIB, minSegments: 6, minSegmentBytes: 64 * 1024 };
const RATES = [0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-9];
const CAPACITIES = [1, 2, 100, 12_345, 1e6, 1e8, 1e10, 1e13];

function expectedErrorRate(capacity: number, geometry: Geometry): number {
  const pages = geometry.segments * geometry.pagesPerSegment;
  return PagedErrorRate.of(geometry.pageCells, geometry.hashes).at(capacity / pages);
}

describe('a geometry’s capacity at a rate', () => {
  it.each(RATES)('is the planned capacity, and no more than the rate allows: p = %d', (p) => {
    for (const capacity of CAPACITIES) {
      for (const near of [capacity, capacity + 1, Math.ceil(capacity * 1.37)]) {
        const geometry = planGeometry({ capacity: near, errorRate: p, cellBits: 1 }, cluster);
        const held = capacityAt(geometry, p);
        expect([near, held >= near]).toEqual([near, true]);
        expect(expectedErrorRate(held, geometry)).toBeLessThanOrEqual(p * (1 + 1e-9));
        expect(expectedErrorRate(held + Math.ceil(held * 1e-6), geometry)).toBeGreaterThan(p);
      }
    }
  });

  // The caller of an import chooses the page size and the number of hashes.
  it('is cheap to compute, for any page size and number of hashes', () => {
    const at = jest.spyOn(PagedErrorRate.prototype, 'at');
    try {
      for (const p of RATES) {
        for (const [pageCells, hashes] of [
          [128, 1],
          [128, 32],
          [4_096, 1],
          [4_096, 32],
        ] as const) {
          const shape = {
            hashScheme: 2,
            cellBits: 1,
            pageCells,
            hashes,
            pagesPerSegment: 1,
            segments: 1,
          } as const;
          at.mockClear();
          capacityAt(shape, p);
          expect(at.mock.calls.length).toBeLessThan(200);
          expect(Math.max(...at.mock.calls.map(([load]) => load))).toBeLessThan((8 * pageCells) / hashes);
        }
      }
    } finally {
      at.mockRestore();
    }
  });
});

describe('page shape', () => {
  it.each(RATES)('stays within the allowed memory above the classic optimum: p = %d', (p) => {
    const shape = pageShapeFor(p);
    const allowance = p >= 1e-3 ? 1.1 : 1.2;
    expect(shape.pageCells / shape.itemsPerPage).toBeLessThanOrEqual(classicCellsPerItem(p) * allowance);
    expect(PagedErrorRate.of(shape.pageCells, shape.hashes).at(shape.itemsPerPage)).toBeLessThanOrEqual(p);
  });

  it.each(RATES)('has as many hashes as allow the most items: p = %d', (p) => {
    const { pageCells, itemsPerPage } = pageShapeFor(p);
    const loads = Array.from({ length: 34 }, (_, i) => PagedErrorRate.of(pageCells, i + 1).loadFor(p));
    expect(itemsPerPage).toBeCloseTo(Math.max(...loads), 6);
  });
});

describe('the work of sizing', () => {
  // Any caller may ask for plans, each with a different rate. At the smallest rate, a search that restarted at one hash
  // for each page size would compute several times as many rates.
  it.each(RATES)('computes fewer than 1,300 page rates: p = %d', (p) => {
    const at = jest.spyOn(PagedErrorRate.prototype, 'at');
    try {
      // Use a rate that no earlier plan has used, so that nothing is cached.
      pageShapeFor(p * (1 - 1e-7));
      expect(at.mock.calls.length).toBeGreaterThan(0);
      expect(at.mock.calls.length).toBeLessThan(1_300);
    } finally {
      at.mockRestore();
    }
  });
});

describe('planned geometry', () => {
  const grid = CAPACITIES.flatMap((capacity) => RATES.map((errorRate) => ({ capacity, errorRate })));

  it.each(grid)('keeps the rate and the limits: n = $capacity, p = $errorRate', ({ capacity, errorRate }) => {
    for (const segmentation of [single, cluster]) {
      for (const cellBits of [1, 4] as const) {
        const geometry = planGeometry({ capacity, errorRate, cellBits }, segmentation);
        expect(expectedErrorRate(capacity, geometry)).toBeLessThanOrEqual(errorRate * (1 + 1e-6));
        expect(segmentBytes(geometry)).toBeLessThanOrEqual(segmentation.maxSegmentBytes);
        expect(filterBytes(geometry)).toBe((cellCount(geometry) * cellBits) / 8);
        expect(Number.isSafeInteger(cellCount(geometry))).toBe(true);
      }
    }
  });

  it('wastes less than a page per segment', () => {
    const { itemsPerPage } = pageShapeFor(1e-3);
    const geometry = planGeometry({ capacity: 1e9, errorRate: 1e-3, cellBits: 4 }, cluster);
    const pages = geometry.segments * geometry.pagesPerSegment;
    expect(pages - 1e9 / itemsPerPage).toBeLessThan(geometry.segments + 1);
  });

  it('has one segment on a single server if it fits, and whole pages', () => {
    const geometry = planGeometry({ capacity: 1, errorRate: 0.01, cellBits: 4 }, single);
    expect(geometry).toMatchObject({ segments: 1, pagesPerSegment: 1 });
    expect(segmentBytes(geometry)).toBe(pageBytes(geometry));
  });

  it('has a multiple of the wanted segments on a cluster, unless they would be too small', () => {
    const segmentsFor = (capacity: number) =>
      planGeometry({ capacity, errorRate: 0.01, cellBits: 4 }, cluster).segments;
    expect(segmentsFor(100)).toBe(1);
    expect(segmentsFor(30_000)).toBe(2);
    expect(segmentsFor(1e6)).toBe(6);
    for (const capacity of [1e8, 3e8, 1e9, 1e11]) {
      expect(segmentsFor(capacity)).toBeGreaterThan(6);
      expect(segmentsFor(capacity) % 6).toBe(0);
    }
  });

  it.each([0, -1, 1.5, NaN, Infinity, MAX_CAPACITY + 1])('refuses a capacity of %d', (capacity) => {
    expect(() => planGeometry({ capacity, errorRate: 0.01, cellBits: 4 }, single)).toThrow(RangeError);
  });

  it.each([0, 1, -0.1, NaN, MIN_ERROR_RATE / 2, MAX_ERROR_RATE * 1.01])('refuses p = %d', (errorRate) => {
    expect(() => planGeometry({ capacity: 1, errorRate, cellBits: 4 }, single)).toThrow(RangeError);
  });
});
