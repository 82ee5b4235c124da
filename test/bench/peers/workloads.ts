import { inFlight } from '../http-client.js';
import { measured, type Measured } from '../measured.js';
import type { Mix } from '../mix.js';
import { assertSetUp } from '../row.js';
import { batchesOf, urls } from '../workload.js';
import type { Contender, Verb } from './contender.js';

/** The work of crawlers, in this order. */
export const WORKLOADS = ['new', 'seen', 'remove-tenth', 'mix'] as const;
export type Workload = (typeof WORKLOADS)[number];

/** One measurement of one workload. */
export interface Pass extends Measured {
  /** The time of each call, in ms. */
  readonly times: readonly number[];
}

/** Rounds of every workload. */
export type Passes = Readonly<Record<Workload, Pass[]>>;

export const noPasses = (): Passes => ({ new: [], seen: [], 'remove-tenth': [], mix: [] });

/** The figures that don't depend on time. */
export interface Survey {
  readonly bytesPerItem: number;
  readonly errorRate: number;
}

/** The first number of made-up URLs that no row adds. No made-up stream reaches it. */
const ABSENT_FROM = 10 ** 9;
/** The contenders promise at most one wrong result in a hundred. Up to twice that counts as a valid set-up. */
const CHANCE = 0.02;

/** Fills the contender and counts its errors. */
export async function survey(contender: Contender, { distinct }: Mix): Promise<Survey> {
  await contender.reset(distinct.length);
  await pass(contender, 'add', distinct, distinct.length);
  const bytesPerItem = (await contender.bytes()) / distinct.length;
  const absent = batchesOf(urls(ABSENT_FROM, distinct.length), contender.batch);
  let wrong = 0;
  for (const batch of absent) wrong += await contender.call('check', batch);
  return { bytesPerItem, errorRate: wrong / distinct.length };
}

/**
 * One round of all workloads. Each starts with the result of the previous one, except the real mix, which starts with
 * an empty set.
 */
export async function runRound(
  contender: Contender,
  { stream, distinct }: Mix,
  passes: Passes,
): Promise<void> {
  await contender.reset(distinct.length);
  passes.new.push(await pass(contender, 'add', distinct, distinct.length));
  passes.seen.push(await pass(contender, 'add', distinct, 0));
  if (contender.removes) {
    const stale = distinct.filter((_, i) => i % 10 === 0);
    passes['remove-tenth'].push(await pass(contender, 'remove', stale, stale.length));
  }
  await contender.reset(distinct.length);
  passes.mix.push(await pass(contender, 'add', stream, distinct.length));
}

/** Calls for all items, and expects about `expected` positive results. */
async function pass(
  contender: Contender,
  verb: Verb,
  items: readonly string[],
  expected: number,
): Promise<Pass> {
  const batches = batchesOf(items, contender.batch);
  const times: number[] = [];
  let hits = 0;
  const work = await measured(contender.workers, items.length, () =>
    inFlight(contender.width, batches.length, async (i) => {
      const from = performance.now();
      const ones = await contender.call(verb, batches[i] as string[]);
      times.push(performance.now() - from);
      hits += ones;
    }),
  );
  const off = Math.abs(hits - expected);
  assertSetUp(
    off <= CHANCE * items.length,
    `${contender.name}, ${verb}: ${hits} of ${items.length}, not ${expected}`,
  );
  return { ...work, times };
}
