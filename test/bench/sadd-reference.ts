import { CASES, noRounds, VERB, type Case, type Rounds } from './batch-rounds.js';
import { inFlight } from './http-client.js';
import { measured } from './measured.js';
import type { Verb } from './peers/contender.js';
import { FingerprintSet, SET_COMMAND as COMMAND } from './peers/fingerprint-set.js';
import type { RedisInstance } from './redis-instance.js';
import { assertSetUp } from './row.js';
import { batchesOf, flat, urls } from './workload.js';

/**
 * The command that crawlers use today for each case of work on a filter, on a set of SHA-1 fingerprints (scrapy-redis).
 */
export const SET_COMMAND: Record<Case, (typeof COMMAND)[Verb]> = {
  'add-new': COMMAND.add,
  'add-present': COMMAND.add,
  check: COMMAND.check,
  remove: COMMAND.remove,
};

/** One round of all cases with a new set: single commands with ioredis, in pipelines of 1,000. */
export async function referenceRound(redis: RedisInstance, items: number, rounds: Rounds): Promise<void> {
  const reference = new FingerprintSet(redis, 'pipelined');
  try {
    await setRound(reference, items, rounds);
  } finally {
    await reference.close();
  }
}

/** One round of all cases, which leaves the set unchanged. */
export async function setRound(set: FingerprintSet, items: number, rounds = noRounds()): Promise<void> {
  const batches = batchesOf(flat(urls(0, items)));
  for (const name of CASES) {
    let hits = 0;
    rounds[name].push(
      await measured(set.workers, items, async () => {
        await inFlight(set.width, batches.length, async (b) => {
          const ones = await set.call(VERB[name], batches[b] as string[]);
          hits += ones;
        });
      }),
    );
    assertSetUp(hits === (name === 'add-present' ? 0 : items), `${SET_COMMAND[name]}: ${hits} of ${items}`);
  }
}
