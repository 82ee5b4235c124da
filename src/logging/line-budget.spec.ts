import { expect, it } from '@jest/globals';
import { LineBudget } from './line-budget.js';

it('allows some lines per span, and tells the next line how many were left out', () => {
  const budget = new LineBudget(2, 1_000);
  expect([0, 1, 2, 999].map((now) => budget.take(now))).toEqual([0, 0, undefined, undefined]);
  expect([1_000, 1_001, 1_002].map((now) => budget.take(now))).toEqual([2, 0, undefined]);
  expect(budget.take(5_000)).toBe(1);
});
