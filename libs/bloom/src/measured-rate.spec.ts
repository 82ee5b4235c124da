import { describe, expect, it } from '@jest/globals';
import { currentLane } from '../../../test/support/lanes.mjs';
import { PagedErrorRate } from './error-rate.js';
import { cellCount, type Geometry } from './geometry.js';
import { DEFAULT_HASH_SCHEME, HASH_SCHEMES, HOST_HASH_SCHEME } from './hash-scheme.js';
import { positionsOf } from './positions.js';
import { planGeometry } from './sizing.js';

/**
 * G2 on the simplest filter: one byte per cell, in memory. Two measures of the rate at capacity:
 *
 *   hits      absent keys that test positive. For Q keys the mean is Q·p (Poisson): below Q·p + 4·√(Q·p) + 4.
 *   expected  the mean of C(u,k)/C(B,k) over pages with u cells set: the rate for absent keys with perfectly random
 *             positions. It has no sampling error, so it tests the sizing precisely even at 1e-6. It varies between
 *             filters, more so if they have few pages, so small filters are averaged.
 */
const CHUNK = 10_000;
const CAPACITIES = [100, 1_000, 10_000, 100_000, 1_000_000];
const RATES = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6];
const segmentation = { maxSegmentBytes: 2 ** 20, minSegments: 1, minSegmentBytes: 1 };

class PlainFilter {
  readonly geometry: Geometry;
  private readonly seed: Uint8Array;
  private readonly cells: Uint8Array;

  constructor(hashScheme: number, capacity: number, errorRate: number, seed: number) {
    const spread = hashScheme === HOST_HASH_SCHEME ? 1 : undefined;
    const sizing = { capacity, errorRate, cellBits: 1 } as const;
    this.geometry = { ...planGeometry(sizing, { ...segmentation, spread }), hashScheme };
    this.cells = new Uint8Array(cellCount(this.geometry));
    this.seed = new Uint8Array(16).fill(seed);
  }

  /** Adds the keys, or counts those that test positive. */
  pass(count: number, key: (i: number) => string, add: boolean): number {
    const { pageCells, pagesPerSegment, hashes } = this.geometry;
    let positives = 0;
    for (let from = 0; from < count; from += CHUNK) {
      const keys = Array.from({ length: Math.min(CHUNK, count - from) }, (_, i) => key(from + i));
      const { segment, page, cell } = positionsOf(keys, this.seed, this.geometry);
      for (let i = 0; i < keys.length; i++) {
        const start = ((segment[i] as number) * pagesPerSegment + (page[i] as number)) * pageCells;
        let set = 0;
        for (let j = i * hashes; j < (i + 1) * hashes; j++) {
          const at = start + (cell[j] as number);
          set += this.cells[at] as number;
          if (add) this.cells[at] = 1;
        }
        if (set === hashes) positives++;
      }
    }
    return positives;
  }

  expectedRate(): number {
    const { pageCells, hashes } = this.geometry;
    const covered = Array.from({ length: pageCells + 1 }, (_, u) => coverChance(u, pageCells, hashes));
    let sum = 0;
    for (let at = 0; at < this.cells.length; at += pageCells) {
      let u = 0;
      for (let c = at; c < at + pageCells; c++) u += this.cells[c] as number;
      sum += covered[u] as number;
    }
    return sum / (this.cells.length / pageCells);
  }

  predictedRate(items: number): number {
    const { pageCells, hashes, segments, pagesPerSegment } = this.geometry;
    return PagedErrorRate.of(pageCells, hashes).at(items / (segments * pagesPerSegment));
  }
}

/** C(u,k)/C(B,k). */
function coverChance(u: number, B: number, k: number): number {
  let chance = 1;
  for (let i = 0; i < k; i++) chance *= Math.max(0, u - i) / (B - i);
  return chance;
}

const present = (i: number) => `https://example.org/present/${i}`;
const absent = (i: number) => `https://example.org/absent/${i}`;

/** An upper bound for the hits in Q trials of probability p, exceeded in about one of 10,000 runs. */
function upperBound(queries: number, p: number): number {
  return queries * p + 4 * Math.sqrt(queries * p) + 4;
}

describe.each(HASH_SCHEMES)('G2 measured error rate, hash scheme %i', (scheme) => {
  // The largest filters run with only one scheme and two rates, because they differ from the others only in the number
  // of pages.
  const isDefault = scheme === DEFAULT_HASH_SCHEME;
  const grid = CAPACITIES.flatMap((n) => RATES.map((p) => ({ n, p }))).filter(
    ({ n, p }) => n <= 100_000 || (isDefault && (p === 1e-2 || p === 1e-6)),
  );

  it.each(grid)('n = $n, p = $p', ({ n, p }) => {
    const filters = Math.max(1, Math.min(200, 20_000 / n));
    const queries = Math.ceil((p < 1e-3 ? 200_000 : 50_000) / filters);
    let hits = 0;
    let expected = 0;
    let predicted = 0;
    for (let f = 1; f <= filters; f++) {
      const filter = new PlainFilter(scheme, n, p, f);
      filter.pass(n, present, true);
      expect(filter.pass(Math.min(n, 1000), present, false)).toBe(Math.min(n, 1000));
      hits += filter.pass(queries, absent, false);
      expected += filter.expectedRate() / filters;
      predicted = filter.predictedRate(n);
    }
    expect(predicted).toBeLessThanOrEqual(p * (1 + 1e-6));
    expect(hits).toBeLessThanOrEqual(upperBound(filters * queries, p));
    // The pages are a sample. The standard deviation of a page's rate is about 3 times its mean, or 8 times at the
    // smallest p.
    const pages = (filters * n) / 30;
    const deviation = 1 + (4 * (p < 1e-4 ? 8 : 3)) / Math.sqrt(pages);
    expect(expected / predicted).toBeLessThan(deviation);
    if (n >= 10_000) expect(predicted / expected).toBeLessThan(deviation);
  });

  // It takes half as long as all the others together.
  if (isDefault && currentLane() === 'all')
    it('n = 10,000,000, p = 0.01', () => {
      const filter = new PlainFilter(scheme, 10_000_000, 0.01, 1);
      filter.pass(10_000_000, String, true);
      expect(filter.expectedRate() / filter.predictedRate(10_000_000)).toBeCloseTo(1, 2);
      expect(filter.pass(200_000, absent, false)).toBeLessThan(upperBound(200_000, 0.01));
    });

  /** Some words of such a short key's hash are equal. Its positions must still be independent. */
  it.each([4, 8])('keys of %d bytes, p = 0.001', (width) => {
    const n = 100_000;
    const key = (i: number) => i.toString(36).padStart(width, '0');
    const filter = new PlainFilter(scheme, n, 1e-3, 1);
    filter.pass(n, key, true);
    const hits = filter.pass(500_000, (i) => key(n + i), false);
    expect(hits).toBeLessThan(upperBound(500_000, 1e-3));
    expect(hits).toBeGreaterThan(500_000 * 1e-3 * 0.8);
  });
});
