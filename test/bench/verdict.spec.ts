import { describe, expect, it } from '@jest/globals';
import { pValue, verdict } from './verdict.js';

const BEFORE = [10, 11, 12, 13, 14];

describe('verdict on rounds of two versions', () => {
  it.each([
    ['less', [5, 6, 7, 8, 9], 'faster'],
    ['less', [15, 16, 17, 18, 19], 'slower'],
    ['more', [5, 6, 7, 8, 9], 'slower'],
    ['more', [15, 16, 17, 18, 19], 'faster'],
  ] as const)('where %s is better, %j after %s … is %s', (better, after, expected) => {
    expect(verdict(BEFORE, after, better)).toBe(expected);
  });

  it('is "same within noise" if ranges of five rounds overlap or touch', () => {
    expect(verdict(BEFORE, [5, 6, 7, 8, 10.5], 'less')).toBe('same within noise');
    expect(verdict(BEFORE, [5, 6, 7, 8, 10], 'less')).toBe('same within noise');
    expect(verdict(BEFORE, BEFORE, 'less')).toBe('same within noise');
  });

  it('tolerates one disturbed round of ten, but not three', () => {
    const before = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19];
    expect(verdict(before, [0, 1, 2, 3, 4, 5, 6, 7, 8, 100], 'less')).toBe('faster');
    expect(verdict(before, [0, 1, 2, 3, 4, 5, 6, 100, 101, 102], 'less')).toBe('same within noise');
  });

  it('is undecided with four rounds on either side', () => {
    expect(verdict(BEFORE, [1, 2, 3, 4], 'less')).toBe('too few rounds');
    expect(verdict([1, 2, 3, 4], BEFORE, 'less')).toBe('too few rounds');
  });

  it.each([
    [0, 5, 5, 2 / 252],
    [1, 5, 5, 4 / 252],
    [2, 5, 5, 8 / 252],
    [3, 3, 2, 1],
  ])('%i pairs out of order of %i and %i rounds have p = %d', (pairs, n, m, p) => {
    expect(pValue(pairs, n, m)).toBeCloseTo(p, 12);
  });

  it('agrees with the published critical values for 8 and 8, and for 20 and 20', () => {
    for (const [n, alpha, critical] of [
      [8, 0.01, 7],
      [8, 0.05, 13],
      [20, 0.01, 105],
      [20, 0.05, 127],
    ] as const) {
      expect(pValue(critical, n, n)).toBeLessThanOrEqual(alpha);
      expect(pValue(critical + 1, n, n)).toBeGreaterThan(alpha);
    }
  });
});
