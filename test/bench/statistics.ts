import type { Latency } from './row.js';

/** The middle value; of an even number of values the lower one. NaN if there are none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The smallest of `values` that at least a share `q` of them does not exceed. NaN if there are none. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? NaN;
}

/** Of times in ms. */
export function latencyOf(times: readonly number[]): Latency {
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}
