import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { positionsOf } from '#bloom';
import { StoreError, type Filter, type Operation, type Store } from '#store';
import { add, count, keyed } from '../contract/calls.js';
import { patienceMs } from '../support/patience.js';

/** An add of an item, successful or not. */
export interface Attempt {
  readonly item: string;
  readonly operation: Operation;
  readonly segment: number;
  /** Whether it completed. In either case, the item is stored at most once. */
  readonly acknowledged: boolean;
  /** When it was sent, in ms. */
  readonly begunAt: number;
  /** When it completed or was given up, in ms. */
  readonly endedAt: number;
}

const WRITERS = 4;
const PAUSE_MS = 3;
const AT_ONCE = 10;

let loads = 0;

/**
 * Several writers add new items, each with its own operation keys, until `during` ends. `during` gets the attempts so
 * far. The only allowed error is STORE_UNAVAILABLE. Returns each writer's attempts in order.
 */
export async function addWhile(
  store: Store,
  filter: Filter,
  deadlineMs: number,
  during: (attempts: readonly Attempt[][]) => Promise<void>,
): Promise<Attempt[][]> {
  const load = ++loads;
  let running = true;
  const attempts = Array.from({ length: WRITERS }, (): Attempt[] => []);
  const writers = attempts.map(async (own, writer) => {
    while (running) {
      const item = `load ${load} writer ${writer} item ${own.length}`;
      own.push(await attempt(store, filter, item, deadlineMs));
      await sleep(PAUSE_MS);
    }
  });
  const outcomes = Promise.all(writers);
  try {
    await Promise.race([during(attempts), outcomes]);
  } finally {
    running = false;
  }
  await outcomes;
  return attempts;
}

async function attempt(store: Store, filter: Filter, item: string, deadlineMs: number): Promise<Attempt> {
  const begunAt = Date.now();
  const operation = { ...keyed(), deadline: begunAt + deadlineMs };
  const segment = positionsOf([item], filter.seed, filter.geometry).segment[0] as number;
  try {
    expect(await add(store, filter, [item], operation)).toEqual([1]);
    return { item, operation, segment, begunAt, acknowledged: true, endedAt: Date.now() };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    expect(error.code).toBe('STORE_UNAVAILABLE');
    return { item, operation, segment, begunAt, acknowledged: false, endedAt: Date.now() };
  }
}

/** Repeats every attempt with its operation key. Expects the first answer to each, and every item to be stored once. */
export async function expectEachOnce(
  store: Store,
  filter: Filter,
  attempts: readonly Attempt[],
): Promise<void> {
  for (let at = 0; at < attempts.length; at += AT_ONCE) {
    const some = attempts.slice(at, at + AT_ONCE);
    const answers = await Promise.all(
      some.map(({ item, operation }) =>
        add(store, filter, [item], { ...operation, deadline: Date.now() + patienceMs() }),
      ),
    );
    expect(answers).toEqual(some.map(() => [1]));
  }
  const keys = attempts.map(({ item }) => item);
  expect(await count(store, filter, keys)).toEqual(keys.map(() => 1));
}
