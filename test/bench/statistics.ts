import type { Latency } from './row.js';

/** The middle value; the lower one of the two for an even number of values. NaN if there are none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The smallest value that at least a share `q` of `values` does not exceed. NaN if there are none. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? NaN;
}

/** The latency in a list of times in ms. */
export function latencyOf(times: readonly number[]): Latency {
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}
