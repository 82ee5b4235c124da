import { Redis } from 'ioredis';
import type { RedisInstance } from '../redis-instance.js';
import { cellIndexes, classicFilter, type ClassicFilter } from './cell-indexes.js';
import type { Contender, Verb } from './contender.js';

const KEY = 'hash-counters';

/**
 * KEYS[1]  the hash: cell -> counter
 * ARGV     verb, k, then k cells per item
 * Returns the number of items that were new, present or removed.
 */
const SCRIPT = `
local verb, k = ARGV[1], tonumber(ARGV[2])
local delta = verb == 'remove' and -1 or 1
local hits = 0
for first = 3, #ARGV, k do
  local counters = redis.call('HMGET', KEYS[1], unpack(ARGV, first, first + k - 1))
  local present = true
  for i = 1, k do
    if (tonumber(counters[i] or 0) or 0) <= 0 then present = false end
  end
  if present == (verb ~= 'add') then
    hits = hits + 1
    if verb ~= 'check' then
      for i = first, first + k - 1 do redis.call('HINCRBY', KEYS[1], ARGV[i], delta) end
    end
  end
end
return hits
`;

/** A counting Bloom filter as a Redis hash of counters, changed by a script (like rueidisprob and Orestes). */
export class HashCounters implements Contender {
  readonly name = 'hash-counters-lua';
  readonly share = 1 / 10;
  readonly batch = 100;
  readonly width = 2;
  readonly removes = true;
  readonly workers;
  private readonly client: Redis;
  private filter: ClassicFilter = classicFilter(1);
  private sha = '';

  constructor(redis: RedisInstance) {
    this.workers = { serverMicros: () => redis.cpuMicros() };
    this.client = new Redis(redis.url);
  }

  async reset(capacity: number): Promise<void> {
    await this.client.del(KEY);
    this.filter = classicFilter(capacity);
    this.sha = (await this.client.script('LOAD', SCRIPT)) as string;
  }

  async call(verb: Verb, items: readonly string[]): Promise<number> {
    const cells = items.flatMap((item) => cellIndexes(item, this.filter));
    return (await this.client.evalsha(this.sha, 1, KEY, verb, this.filter.hashes, ...cells)) as number;
  }

  async bytes(): Promise<number> {
    return (await this.client.memory('USAGE', KEY, 'SAMPLES', 0)) ?? 0;
  }

  async close(): Promise<void> {
    await this.client.quit();
  }
}
