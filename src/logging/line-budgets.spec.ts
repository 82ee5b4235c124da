import { describe, expect, it } from '@jest/globals';
import { LineBudgets } from './line-budgets.js';

describe('line budgets', () => {
  it('are separate for each key, and count its left-out lines', () => {
    const budgets = new LineBudgets(2, 1_000);
    expect([0, 1, 2, 3].map((now) => budgets.take('noisy', now))).toEqual([0, 0, undefined, undefined]);
    expect(budgets.take('other', 4)).toBe(0);
    expect(budgets.take('noisy', 1_001)).toBe(2);
  });

  it('are limited: beyond a thousand keys in use, all others share one budget until a place is free', () => {
    const budgets = new LineBudgets(1, 1_000);
    for (let i = 0; i < 1_000; i++) expect(budgets.take(`key ${i}`, 0)).toBe(0);
    expect(budgets.take('late', 1)).toBe(0);
    expect(budgets.take('later', 1)).toBeUndefined();
    expect(budgets.take('key 7', 1)).toBeUndefined();
    expect(budgets.take('new', 2_000)).toBe(0);
    expect(budgets.take('newer', 2_000)).toBe(0);
    // A budget with left-out lines to report must not be discarded for another key.
    expect(budgets.take('key 7', 2_000)).toBe(1);
  });
});
