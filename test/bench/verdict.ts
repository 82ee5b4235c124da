/** How the second of two sets of measurements compares with the first. */
export type Verdict = 'faster' | 'slower' | 'same within noise' | 'too few rounds';

/** The smallest number of rounds per side that can decide: 5 and 5 without overlap have p = 2 / 252. */
export const LEAST_ROUNDS = 5;

/**
 * The probability of finding a difference where none exists. A comparison has about forty figures, so with the usual
 * 0.05, comparing a version with itself would find two differences.
 */
const SIGNIFICANCE = 0.01;

/**
 * The two-sided exact test of Mann and Whitney ("On a test of whether one of two random variables is stochastically
 * larger than the other", 1947), which Go's benchstat uses too. It uses only ranks, so a round disturbed by another
 * process weighs no more than any other, and it assumes no distribution. With 5 rounds each, it requires ranges that
 * don't overlap. With more rounds, it allows some outliers. It finds a difference but not its size, which the ratio
 * shows.
 */
export function verdict(
  before: readonly number[],
  after: readonly number[],
  better: 'less' | 'more',
): Verdict {
  if (Math.min(before.length, after.length) < LEAST_ROUNDS) return 'too few rounds';
  const [less, more] = [pairsNotAbove(after, before), pairsNotAbove(before, after)];
  // The fewer pairs contradict a difference, the more certain it is.
  if (pValue(Math.min(less, more), before.length, after.length) > SIGNIFICANCE) return 'same within noise';
  return less > more === (better === 'less') ? 'faster' : 'slower';
}

/**
 * How many pairs with one value from `low` and one from `high` are in that order. Equal values count in both orders,
 * which is the cautious choice.
 */
function pairsNotAbove(low: readonly number[], high: readonly number[]): number {
  return low.reduce((sum, one) => sum + high.filter((other) => one <= other).length, 0);
}

/**
 * The probability of at most `pairs` pairs out of order, in either direction, if both sides have the same distribution.
 */
export function pValue(pairs: number, n: number, m: number): number {
  const counts = interleavings(n, m);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return Math.min(1, (2 * sum(counts.slice(0, pairs + 1))) / sum(counts));
}

/**
 * The number of ways to interleave n and m values with 0, 1, … n·m pairs out of order: the coefficients of the Gaussian
 * binomial, ∏ (1 - q^(m+i)) / (1 - q^i) for i = 1 … n.
 */
function interleavings(n: number, m: number): number[] {
  const counts = [1, ...new Array<number>(n * m).fill(0)];
  const at = (pairs: number) => counts[pairs] ?? 0;
  for (let i = 1; i <= n; i++) {
    for (let pairs = n * m; pairs >= m + i; pairs--) counts[pairs] = at(pairs) - at(pairs - m - i);
    for (let pairs = i; pairs <= n * m; pairs++) counts[pairs] = at(pairs) + at(pairs - i);
  }
  return counts;
}
