import { setTimeout as sleep } from 'node:timers/promises';
import { execFileSync } from 'node:child_process';
import { Redis } from 'ioredis';
import { startRedis, type RedisServer } from '../support/redis-server.js';

/** Scripts that block Redis for longer than this count as slow. */
export const SLOW_MICROS = 1_000;

/** Scripts' wall times, as Redis records them. On a busy machine, they include other processes' time. */
export interface ScriptTimes {
  readonly calls: number;
  readonly micros: number;
  /** Scripts above SLOW_MICROS. */
  readonly slow: number;
  /** The longest of the slow scripts. */
  readonly worstMicros: number;
}

/** This bench's own redis-server, which stores nothing on disk, and a connection to query its statistics. */
export class RedisInstance {
  private constructor(
    private readonly server: RedisServer,
    readonly client: Redis,
  ) {}

  static async start(): Promise<RedisInstance> {
    const args = ['--slowlog-log-slower-than', String(SLOW_MICROS), '--slowlog-max-len', '100000'];
    const server = await startRedis({ args });
    return new RedisInstance(server, new Redis(server.port, '127.0.0.1'));
  }

  get url(): string {
    return this.server.url;
  }

  get pid(): number {
    return this.server.pid;
  }

  /** CPU time that it has used, user and system, in µs. */
  cpuMicros(): Promise<number> {
    return redisCpuMicros(this.client);
  }

  /** Its data's memory, without connection buffers and the slow log, once deleted data is freed. */
  async usedMemory(): Promise<number> {
    await this.client.slowlog('RESET');
    for (let look = 0; look < 200; look++) {
      const info = await this.client.info('memory');
      const figure = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
      if (figure('lazyfree_pending_objects') === 0)
        return figure('used_memory') - figure('mem_clients_normal');
      await sleep(50);
    }
    throw new Error('after ten seconds, Redis is still freeing deleted data');
  }

  /** Memory of all string values: the cells of all filters. */
  async stringsMemory(): Promise<number> {
    let sum = 0;
    let cursor = '0';
    do {
      const [next, keys] = await this.client.scan(cursor, 'COUNT', 1_000, 'TYPE', 'string');
      for (const key of keys) sum += Number(await this.client.memory('USAGE', key));
      cursor = next;
    } while (cursor !== '0');
    return sum;
  }

  async resetScriptTimes(): Promise<void> {
    await this.client.slowlog('RESET');
    await this.client.config('RESETSTAT');
  }

  /** Script times since the last reset. */
  async scriptTimes(): Promise<ScriptTimes> {
    const stats = await this.client.info('commandstats');
    const [, calls, micros] = /^cmdstat_evalsha:calls=(\d+),usec=(\d+)/m.exec(stats) ?? [];
    const entries = (await this.client.slowlog('GET', -1)) as [number, number, number, string[]][];
    const slow = entries.filter(([, , , [command]]) => /^evalsha?$/i.test(command ?? ''));
    return {
      calls: Number(calls ?? 0),
      micros: Number(micros ?? 0),
      slow: slow.length,
      worstMicros: Math.max(0, ...slow.map(([, , duration]) => duration)),
    };
  }

  async stop(): Promise<void> {
    this.client.disconnect();
    await this.server.stop();
  }
}

/** CPU time used by a connection's server, user and system, all threads, in µs. */
export async function redisCpuMicros(client: Redis): Promise<number> {
  const info = await client.info('cpu');
  const seconds = (name: string) => Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1]);
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6;
}

/** Name and version of the Redis server. Undefined if none is recent enough. */
export function redisVersion(): string | undefined {
  try {
    const program = execFileSync(process.execPath, ['scripts/redis-ensure.mjs', '--path'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return /v=(\S+)/.exec(execFileSync(program.trim(), ['--version'], { encoding: 'utf8' }))?.[1];
  } catch {
    return undefined;
  }
}
