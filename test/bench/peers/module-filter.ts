import { Redis } from 'ioredis';
import { redisCpuMicros } from '../redis-instance.js';
import { BATCH } from '../workload.js';
import { ERROR_RATE, type Contender, type Verb } from './contender.js';

const KEY = 'unseen-bench-module-filter';

/**
 * The commands for RedisBloom's cuckoo filter, which can forget, and for the Bloom filter in RedisBloom and
 * Valkey-bloom.
 */
const COMMANDS = {
  'redisbloom-cuckoo': { reserve: ['CF.RESERVE'], add: 'CF.INSERTNX', check: 'CF.MEXISTS' },
  'module-bloom': { reserve: ['BF.RESERVE', String(ERROR_RATE)], add: 'BF.INSERT', check: 'BF.MEXISTS' },
} as const;

/**
 * A module's filter in the Redis or Valkey server at a URL. It takes one command per batch, but one per item to remove.
 */
export class ModuleFilter implements Contender {
  readonly share = 1;
  readonly batch = BATCH;
  readonly width = 2;
  readonly removes: boolean;
  readonly workers;

  readonly name: string;

  /** `synced`: the server writes each change to disk before it replies, like the embedded store. */
  private constructor(
    private readonly client: Redis,
    private readonly filter: keyof typeof COMMANDS,
    synced: boolean,
  ) {
    this.name = synced ? `${filter}-synced` : filter;
    this.removes = filter === 'redisbloom-cuckoo';
    this.workers = { serverMicros: () => redisCpuMicros(client) };
  }

  /** The server's best filter, or undefined if it has none. Throws if it can't connect. */
  static async at(url: string): Promise<ModuleFilter | undefined> {
    const client = new Redis(url, { maxRetriesPerRequest: 0, retryStrategy: () => null });
    const known = async (command: string) => {
      const [info] = await client.command('INFO', command);
      return info !== null && info !== undefined;
    };
    try {
      const persistence = await client.config('GET', 'append*');
      const setTo = (option: string) => persistence[persistence.indexOf(option) + 1];
      const synced = setTo('appendonly') === 'yes' && setTo('appendfsync') === 'always';
      if (await known('CF.INSERTNX')) return new ModuleFilter(client, 'redisbloom-cuckoo', synced);
      if (await known('BF.INSERT')) return new ModuleFilter(client, 'module-bloom', synced);
    } catch (error) {
      client.disconnect();
      throw error;
    }
    client.disconnect();
    return undefined;
  }

  async reset(capacity: number): Promise<void> {
    const [command, ...parameters] = COMMANDS[this.filter].reserve;
    await this.client.del(KEY);
    await this.client.call(command, KEY, ...parameters, capacity);
  }

  async call(verb: Verb, items: readonly string[]): Promise<number> {
    if (verb === 'remove') return this.remove(items);
    const { add, check } = COMMANDS[this.filter];
    const replies = await (verb === 'add'
      ? this.client.call(add, KEY, 'NOCREATE', 'ITEMS', ...items)
      : this.client.call(check, KEY, ...items));
    return ones(replies as unknown[]);
  }

  async bytes(): Promise<number> {
    return (await this.client.memory('USAGE', KEY)) ?? 0;
  }

  async close(): Promise<void> {
    await this.client.del(KEY);
    await this.client.quit();
  }

  private async remove(items: readonly string[]): Promise<number> {
    const pipeline = this.client.pipeline();
    for (const item of items) pipeline.call('CF.DEL', KEY, item);
    const replies = (await pipeline.exec()) ?? [];
    return ones(replies.map(([, reply]) => reply));
  }
}

/**
 * Counts positive replies. In RESP3, some commands reply with booleans, others with numbers. -1 means that a cuckoo
 * filter is full.
 */
function ones(replies: readonly unknown[]): number {
  let sum = 0;
  for (const reply of replies) if (reply === 1 || reply === true) sum++;
  return sum;
}
