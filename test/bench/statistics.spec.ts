import { describe, expect, it } from '@jest/globals';
import { summary, type Measured } from './measured.js';
import { latencyOf, median, quantile } from './statistics.js';

describe('statistics on rounds', () => {
  it('have the middle value as median, or the lower of two', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 3, 1, 2])).toBe(2);
    expect(median([7])).toBe(7);
    expect(median([])).toBeNaN();
  });

  it('have quantiles that at least the given share of values does not exceed', () => {
    const values = Array.from({ length: 100 }, (_, i) => 100 - i);
    expect([0, 0.01, 0.5, 0.99, 1].map((q) => quantile(values, q))).toEqual([1, 1, 50, 99, 100]);
    expect(quantile([1, 2, 3], 0.99)).toBe(3);
    expect(latencyOf(values)).toEqual({ p50: 50, p99: 99 });
  });

  it('sort by value and leave the input unchanged', () => {
    const values = [10, 9, 100];
    expect(median(values)).toBe(10);
    expect(values).toEqual([10, 9, 100]);
  });
});

describe('a summary of rounds', () => {
  const round = (items: number, wall: number, client: number, service?: number): Measured => ({
    ...{ items, wall, cpu: { client, service, server: undefined } },
  });

  it('has medians per item for each part, and those of each round', () => {
    const rounds = [round(10, 100, 10, 40), round(10, 50, 30, 20), round(20, 400, 40, 120)];
    expect(summary(rounds)).toEqual({
      itemsPerSecond: 1e5,
      cpu: { client: 2, service: 4 },
      rounds: [
        { itemsPerSecond: 1e5, cpu: { client: 1, service: 4 } },
        { itemsPerSecond: 2e5, cpu: { client: 3, service: 2 } },
        { itemsPerSecond: 5e4, cpu: { client: 2, service: 6 } },
      ],
    });
  });
});
