import { untilInStep, withClient } from './redis-failover.js';
import { startRedis, type RedisServer } from './redis-server.js';
import { until } from './until.js';

/** A real master with replicas, watched by real Sentinels, on loopback. */
export interface RedisSentinel {
  /** The Sentinels' name for the master. */
  readonly name: string;
  /** `host:port` of every Sentinel. */
  readonly nodes: readonly string[];
  /** The initial master. */
  readonly master: RedisServer;
  readonly replicas: readonly RedisServer[];
  readonly sentinels: readonly RedisServer[];
  stop(): Promise<void>;
}

export interface SentinelOptions {
  /** Default: 1. */
  readonly replicas?: number;
  /** Default: 3. A majority of them promotes a replica. */
  readonly sentinels?: number;
  /** Arguments for master and replicas. */
  readonly args?: readonly string[];
  /** The Sentinels' own password. */
  readonly sentinelPassword?: string;
}

const NAME = 'unseen-test';
/** Starts the first synchronisation immediately instead of after five seconds. */
const PROMPT = ['--repl-diskless-sync-delay', '0'];

export async function startSentinel(options: SentinelOptions = {}): Promise<RedisSentinel> {
  const { replicas: count = 1, sentinels: watchers = 3, args = [], sentinelPassword } = options;
  const servers: RedisServer[] = [];
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  const started = async (server: Promise<RedisServer>) => {
    servers.push(await server);
    return server;
  };
  try {
    const master = await started(startRedis({ args: [...PROMPT, ...args] }));
    const replicaOf = ['--replicaof', '127.0.0.1', String(master.port)];
    const replicas = await all(count, () =>
      started(startRedis({ args: [...replicaOf, ...PROMPT, ...args] })),
    );
    const quorum = Math.floor(watchers / 2) + 1;
    const sentinels = await all(watchers, () =>
      started(startRedis({ args: ['--sentinel'], config: configOf(master.port, quorum, sentinelPassword) })),
    );
    await untilInStep(master);
    await untilWatched(sentinels, count, sentinelPassword);
    const nodes = sentinels.map(({ port }) => `127.0.0.1:${port}`);
    return { name: NAME, nodes, master, replicas, sentinels, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function all<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, make));
}

function configOf(port: number, quorum: number, password: string | undefined): string {
  return [
    `sentinel monitor ${NAME} 127.0.0.1 ${port} ${quorum}`,
    `sentinel down-after-milliseconds ${NAME} 1500`,
    `sentinel failover-timeout ${NAME} 10000`,
    ...(password === undefined ? [] : [`requirepass ${password}`, `sentinel sentinel-pass ${password}`]),
  ].join('\n');
}

async function untilWatched(
  sentinels: readonly RedisServer[],
  replicas: number,
  password: string | undefined,
): Promise<void> {
  const others = sentinels.length - 1;
  await until('the Sentinels know master, replicas and each other', async () => {
    const infos = await Promise.all(
      sentinels.map((sentinel) =>
        withClient(sentinel, async (client) => String(await client.call('INFO', 'sentinel')), password),
      ),
    );
    return infos.every(
      (info) => info.includes(`status=ok`) && info.includes(`slaves=${replicas},sentinels=${others + 1}`),
    );
  });
}
