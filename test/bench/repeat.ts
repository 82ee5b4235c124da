import { ownCpuMicros } from './process-usage.js';
import type { BenchOptions } from './row.js';
import { median } from './statistics.js';

const ROUND_ITEMS = 100_000;

/** µs per item, in this process. */
export interface Cost {
  readonly wall: number;
  readonly cpu: number;
}

/**
 * Measures the cost of `pass`, which returns how many items it processed: the median over rounds, each with enough
 * passes for exact timing.
 */
export function repeat(options: BenchOptions, pass: () => number): Cost {
  const walls: number[] = [];
  const cpus: number[] = [];
  const end = performance.now() + options.seconds * 1_000;
  // The first round lets the compiler finish.
  for (let round = 0; round < 4 || performance.now() < end; round++) {
    const from = performance.now();
    const cpuFrom = ownCpuMicros();
    let items = 0;
    while (items < ROUND_ITEMS) items += pass();
    if (round === 0) continue;
    walls.push(((performance.now() - from) * 1_000) / items);
    cpus.push((ownCpuMicros() - cpuFrom) / items);
  }
  return { wall: median(walls), cpu: median(cpus) };
}
