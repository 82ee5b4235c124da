import { CASES, type Case, type Rounds } from './batch-rounds.js';
import type { Costs } from './guard-limits.js';
import type { Measured } from './measured.js';
import { SAMPLE } from './options.js';
import type { BenchOptions, CpuPerItem } from './row.js';

export const ROUNDS = 5;

export const OPTIONS: BenchOptions = {
  quick: true,
  seconds: 0.1,
  warmUpSeconds: 3,
  file: SAMPLE,
  profileDir: undefined,
};

/** A row's costs for each case: the minimum over its rounds, and over its yardstick's rounds. */
export function caseCosts(
  part: keyof CpuPerItem,
  rowOf: (name: Case) => string,
  rounds: Rounds,
  units: (name: Case) => readonly Measured[],
): Costs {
  const leastOf = (all: readonly Measured[]) =>
    Math.min(...all.map(({ cpu, items }) => (cpu[part] ?? NaN) / items));
  return Object.fromEntries(
    CASES.map((name) => [rowOf(name), { row: leastOf(rounds[name]), yardstick: leastOf(units(name)) }]),
  );
}
