import { hash, randomBytes } from 'node:crypto';
import { Redis, type ChainableCommander } from 'ioredis';
import { inFlight } from '../http-client.js';
import type { RedisInstance } from '../redis-instance.js';
import { BATCH } from '../workload.js';
import type { Contender, Verb } from './contender.js';

const KEY = 'fingerprints';
const HEX_DIGITS = 40;
const FILL_BATCHES_IN_FLIGHT = 4;

/** The command for one item. */
export const SET_COMMAND = { add: 'sadd', check: 'sismember', remove: 'srem' } as const;

const QUEUE = {
  sadd: (pipeline: ChainableCommander, key: string, member: string) => pipeline.sadd(key, member),
  sismember: (pipeline: ChainableCommander, key: string, member: string) => pipeline.sismember(key, member),
  srem: (pipeline: ChainableCommander, key: string, member: string) => pipeline.srem(key, member),
};

/**
 * What crawlers usually do today: a Redis set of SHA-1 fingerprints (scrapy-redis), with ioredis, hashed by the client.
 * `pipelined` sends one command per item, so that each gets its result. `variadic` sends one command per batch. That is
 * the fastest way, but SADD and SREM then return only how many items were new or removed, not which.
 */
export class FingerprintSet implements Contender {
  readonly name: string;
  readonly share = 1;
  readonly batch = BATCH;
  readonly width = 2;
  readonly removes = true;
  readonly workers;
  private readonly client: Redis;

  constructor(
    redis: RedisInstance,
    private readonly style: 'pipelined' | 'variadic',
    private readonly key = `${KEY}-${style}`,
  ) {
    this.name = `sadd-sha1-${style}`;
    this.workers = { serverMicros: () => redis.cpuMicros() };
    this.client = new Redis(redis.url);
  }

  async reset(): Promise<void> {
    await this.client.del(this.key);
  }

  /** Adds made-up fingerprints that are as random as real ones. */
  async fill(count: number): Promise<void> {
    await inFlight(FILL_BATCHES_IN_FLIGHT, Math.ceil(count / BATCH), async () => {
      const hex = randomBytes((BATCH * HEX_DIGITS) / 2).toString('hex');
      const members = Array.from({ length: BATCH }, (_, i) =>
        hex.slice(i * HEX_DIGITS, (i + 1) * HEX_DIGITS),
      );
      await this.client.sadd(this.key, members);
    });
  }

  call(verb: Verb, items: readonly string[]): Promise<number> {
    const members = items.map((item) => hash('sha1', item));
    return this.style === 'pipelined' ? this.pipelined(verb, members) : this.variadic(verb, members);
  }

  async bytes(): Promise<number> {
    return (await this.client.memory('USAGE', this.key, 'SAMPLES', 0)) ?? 0;
  }

  async close(): Promise<void> {
    await this.client.quit();
  }

  private async pipelined(verb: Verb, members: readonly string[]): Promise<number> {
    const pipeline = this.client.pipeline();
    const queue = QUEUE[SET_COMMAND[verb]];
    for (const member of members) queue(pipeline, this.key, member);
    const replies = (await pipeline.exec()) ?? [];
    let ones = 0;
    for (const [, reply] of replies) if (reply === 1) ones++;
    return ones;
  }

  private async variadic(verb: Verb, members: string[]): Promise<number> {
    if (verb === 'add') return this.client.sadd(this.key, members);
    if (verb === 'remove') return this.client.srem(this.key, members);
    let ones = 0;
    for (const reply of await this.client.smismember(this.key, members)) ones += reply;
    return ones;
  }
}
