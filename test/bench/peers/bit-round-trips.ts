import { Redis } from 'ioredis';
import type { RedisInstance } from '../redis-instance.js';
import { cellIndexes, classicFilter, type ClassicFilter } from './cell-indexes.js';
import type { Contender, Verb } from './contender.js';

const KEY = 'bit-round-trips';

/**
 * A Bloom filter in a Redis string, with one round trip per bit (like the Bloom filter package for Scrapy). It can't
 * forget.
 */
export class BitRoundTrips implements Contender {
  readonly name = 'getbit-setbit';
  readonly share = 1 / 50;
  readonly batch = 1;
  /** One call at a time: between testing and setting the bits, another caller would find the same URL new. */
  readonly width = 1;
  readonly removes = false;
  readonly workers;
  private readonly client: Redis;
  private filter: ClassicFilter = classicFilter(1);

  constructor(redis: RedisInstance) {
    this.workers = { serverMicros: () => redis.cpuMicros() };
    this.client = new Redis(redis.url);
  }

  async reset(capacity: number): Promise<void> {
    await this.client.del(KEY);
    this.filter = classicFilter(capacity);
  }

  async call(verb: Verb, items: readonly string[]): Promise<number> {
    let hits = 0;
    for (const item of items) {
      const cells = cellIndexes(item, this.filter);
      const present = await this.present(cells);
      if (verb === 'add' && !present) for (const cell of cells) await this.client.setbit(KEY, cell, 1);
      if (present === (verb === 'check')) hits++;
    }
    return hits;
  }

  async bytes(): Promise<number> {
    return (await this.client.memory('USAGE', KEY, 'SAMPLES', 0)) ?? 0;
  }

  async close(): Promise<void> {
    await this.client.quit();
  }

  /** Reads all bits one after another, as the package does. */
  private async present(cells: readonly number[]): Promise<boolean> {
    let present = true;
    for (const cell of cells) if ((await this.client.getbit(KEY, cell)) === 0) present = false;
    return present;
  }
}
