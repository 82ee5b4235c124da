import { runHistory } from './history.js';
import { planOf } from './plan.js';

export interface Report {
  readonly histories: number;
  /** Seeds of failed histories, with the failures. */
  readonly failed: ReadonlyMap<number, string>;
  /** How often each rule decided. */
  readonly exercised: ReadonlyMap<string, number>;
}

/** Runs the histories of several seeds, one after another, until the first failure, or all of them. */
export async function simulate(seeds: Iterable<number>, { goesOn = false } = {}): Promise<Report> {
  const exercised = new Map<string, number>();
  const failed = new Map<number, string>();
  let histories = 0;
  for (const seed of seeds) {
    const outcome = await runHistory(planOf(seed));
    histories++;
    for (const [rule, times] of outcome.exercised) exercised.set(rule, (exercised.get(rule) ?? 0) + times);
    if (outcome.violation === undefined) continue;
    failed.set(seed, outcome.violation);
    if (!goesOn) break;
  }
  return { histories, failed, exercised };
}

/** `count` seeds, from `first` on. */
export function seedsFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, n) => first + n);
}
