import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../support/random.js';
import type { Answers } from './answers.js';
import type { Fault } from './attempt.js';
import { between, type FaultSource } from './system.js';

/** Pause between two faults in a group, in ms, so clients get answers to compare. */
const REST_MS = [200, 1_200] as const;
/** Failovers take seconds. */
const LONGEST_MS = 120_000;

/**
 * Strikes with one fault after another until `isOver`, with each at least once. Resolves when the last fault has ended.
 */
export async function disturb(
  sources: readonly FaultSource[],
  random: Random,
  isOver: () => boolean,
  answers: Answers,
  faults: Fault[],
): Promise<void> {
  let order = shuffled(sources, random);
  for (let strikes = 0; ; strikes++) {
    if (isOver() && strikes >= sources.length) return;
    await sleep(between(random, ...REST_MS));
    if (order.length === 0) order = shuffled(sources, random);
    const source = order.pop();
    if (source === undefined) return;
    const start = performance.now();
    const death = await ended(source, source.strike(random, answers));
    const fault = { kind: source.kind, start, end: performance.now() };
    faults.push({ ...fault, ...death });
  }
}

/** Rejects if a fault doesn't end in time, so the clients stop. */
async function ended<T>({ kind }: FaultSource, strike: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${kind} is not over after ${LONGEST_MS} ms`)), LONGEST_MS);
  });
  return Promise.race([strike, late]).finally(() => clearTimeout(timer));
}

function shuffled<T>(values: readonly T[], random: Random): T[] {
  const rest = [...values];
  return Array.from(values, () => rest.splice(random.below(rest.length), 1)[0] as T);
}
