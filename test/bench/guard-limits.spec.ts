import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { assertSameRows, falls, type Baseline } from './guard-limits.js';
import { guardGroups } from './guard-rows.js';

describe('limits of the guard', () => {
  it('accepts ratios up to 30 % above the baseline, and any below', () => {
    const baseline = { a: 2, b: 2, c: 2 };
    expect(falls(['a', 'b', 'c'], baseline, { a: 2.6, b: 2, c: 0.1 })).toEqual([]);
  });

  it('names row, baseline, measured value and limit of a ratio beyond its limit', () => {
    expect(falls(['a', 'b'], { a: 2, b: 10 }, { a: 2.61, b: 12.9 })).toEqual([
      { row: 'a', baseline: 2, measured: 2.61, limit: 2.6 },
    ]);
  });

  it('treats a missing measurement as beyond the limit', () => {
    expect(falls(['a', 'b'], { a: 2, b: 2 }, { a: NaN })).toMatchObject([{ row: 'a' }, { row: 'b' }]);
  });

  it('refuses a baseline with different rows', () => {
    expect(() => assertSameRows(['a'], { a: 1 })).not.toThrow();
    expect(() => assertSameRows(['a', 'b'], { a: 1 })).toThrow('missing: b; unknown: none');
    expect(() => assertSameRows(['a'], { a: 1, c: 1 })).toThrow('missing: none; unknown: c');
  });

  it('has a committed baseline of exactly the measured rows, each above 0', () => {
    const { ratios } = JSON.parse(readFileSync('test/bench/guard-baseline.json', 'utf8')) as Baseline;
    assertSameRows(
      guardGroups().flatMap(({ rows }) => rows),
      ratios,
    );
    expect(Object.values(ratios).filter((ratio) => !(ratio > 0))).toEqual([]);
  });
});
