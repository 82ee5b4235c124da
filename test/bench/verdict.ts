/** What two sets of measurements of one figure say about the second against the first. */
export type Verdict = 'faster' | 'slower' | 'same within noise' | 'too few rounds';

/** Rounds of each side with which the rule can tell anything: 5 and 5 that do not overlap have p = 2 / 252. */
export const LEAST_ROUNDS = 5;

/**
 * How often the rule may name a difference where there is none. A comparison has some forty figures: with the usual
 * 0.05 one of a version with itself would name two of them.
 */
const SIGNIFICANCE = 0.01;

/**
 * The two-sided exact test of Mann and Whitney ("On a test of whether one of two random variables is stochastically
 * larger than the other", 1947), which Go's benchstat applies too: it looks at ranks only, so that a round disturbed by
 * another process weighs no more than any other, and assumes no distribution. With 5 rounds of each it asks that the
 * ranges do not overlap; with more rounds it lets some outliers pass. It says that there is a difference, not that it
 * is large: that is for the ratio to say.
 */
export function verdict(
  before: readonly number[],
  after: readonly number[],
  better: 'less' | 'more',
): Verdict {
  if (Math.min(before.length, after.length) < LEAST_ROUNDS) return 'too few rounds';
  const [less, more] = [pairsNotAbove(after, before), pairsNotAbove(before, after)];
  // The fewer pairs speak against a difference, the surer it is.
  if (pValue(Math.min(less, more), before.length, after.length) > SIGNIFICANCE) return 'same within noise';
  return less > more === (better === 'less') ? 'faster' : 'slower';
}

/** Pairs of one of `low` and one of `high` in that order. Equal ones count for both orders, which is the cautious way. */
function pairsNotAbove(low: readonly number[], high: readonly number[]): number {
  return low.reduce((sum, one) => sum + high.filter((other) => one <= other).length, 0);
}

/** The chance of at most `pairs` pairs out of order, in either direction, if both sides were drawn from one lot. */
export function pValue(pairs: number, n: number, m: number): number {
  const counts = interleavings(n, m);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return Math.min(1, (2 * sum(counts.slice(0, pairs + 1))) / sum(counts));
}

/**
 * Of all ways to interleave n and m values, how many have 0, 1, … n·m pairs out of order: the coefficients of the
 * Gaussian binomial, ∏ (1 - q^(m+i)) / (1 - q^i) for i = 1 … n.
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
