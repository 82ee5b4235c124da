import type { BenchOptions } from './row.js';

/** Costs of larger filters are compared with the costs at this size. */
export const BASE_SIZE = 1_000_000;
export const LARGE_SIZE = 10_000_000;

/** A run's filter sizes in items, ascending. */
export function sizesOf({ quick, size }: BenchOptions): number[] {
  if (size !== undefined) return [...new Set([BASE_SIZE, size])].sort((a, b) => a - b);
  return quick ? [BASE_SIZE / 10, BASE_SIZE] : [BASE_SIZE / 10, BASE_SIZE, LARGE_SIZE];
}

/** A size as written in row names: 1e7. */
export function sizeName(size: number): string {
  return size.toExponential().replace('+', '');
}
