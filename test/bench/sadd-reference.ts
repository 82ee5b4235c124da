import { createHash } from 'node:crypto';
import { Redis, type ChainableCommander } from 'ioredis';
import { CASES, type Case, type Rounds } from './batch-rounds.js';
import { inFlight } from './http-client.js';
import { measured, type Workers } from './measured.js';
import type { RedisInstance } from './redis-instance.js';
import { assertSetUp } from './row.js';
import { BATCH, urls } from './workload.js';

/** What crawlers do today for each case of a filter's work: a set of SHA-1 fingerprints (scrapy-redis). */
export const SET_COMMAND: Record<Case, keyof typeof QUEUE_COMMAND> = {
  'add-new': 'sadd',
  'add-present': 'sadd',
  check: 'sismember',
  remove: 'srem',
};

const KEY = 'fingerprints';

const QUEUE_COMMAND = {
  sadd: (pipeline: ChainableCommander, fingerprint: string) => pipeline.sadd(KEY, fingerprint),
  sismember: (pipeline: ChainableCommander, fingerprint: string) => pipeline.sismember(KEY, fingerprint),
  srem: (pipeline: ChainableCommander, fingerprint: string) => pipeline.srem(KEY, fingerprint),
};

const PIPELINES_IN_FLIGHT = 2;

/** One round of all cases: single commands through ioredis in pipelines of 1,000; the client hashes. */
export async function referenceRound(redis: RedisInstance, items: number, rounds: Rounds): Promise<void> {
  const client = new Redis(redis.url);
  const workers: Workers = { serverMicros: () => redis.cpuMicros() };
  const batches = Array.from({ length: items / BATCH }, (_, b) => urls(b * BATCH, BATCH));
  try {
    for (const name of CASES) {
      let hits = 0;
      rounds[name].push(
        await measured(workers, items, async () => {
          await inFlight(PIPELINES_IN_FLIGHT, batches.length, async (b) => {
            const ones = await runPipeline(client, SET_COMMAND[name], batches[b] as string[]);
            hits += ones;
          });
        }),
      );
      assertSetUp(hits === (name === 'add-present' ? 0 : items), `${SET_COMMAND[name]}: ${hits} of ${items}`);
    }
  } finally {
    client.disconnect();
  }
}

/** Runs one command an item. Returns the number of answers that are 1. */
async function runPipeline(
  client: Redis,
  command: keyof typeof QUEUE_COMMAND,
  batch: readonly string[],
): Promise<number> {
  const pipeline = client.pipeline();
  const queue = QUEUE_COMMAND[command];
  for (const url of batch) queue(pipeline, createHash('sha1').update(url).digest('hex'));
  const replies = (await pipeline.exec()) ?? [];
  let ones = 0;
  for (const [, reply] of replies) if (reply === 1) ones++;
  return ones;
}
