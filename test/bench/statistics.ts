import type { Latency } from './row.js';

/** The middle value, or the lower of two middle values. NaN without values. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The smallest value for which at least a share `q` of `values` is no larger. NaN without values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? NaN;
}

/** The latency from times in ms. */
export function latencyOf(times: readonly number[]): Latency {
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}
