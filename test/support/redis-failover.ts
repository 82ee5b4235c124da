import { Redis } from 'ioredis';
import type { RedisServer } from './redis-server.js';
import { until } from './until.js';

/** How to reach a server. */
export interface Reached {
  readonly port: number;
  /** A client that stays connected, for many calls: connecting takes longer than a call. */
  readonly client?: Redis;
}

/** Runs `act` with a client of one server, which knows nothing of clusters. */
export async function withClient<T>(
  server: Reached,
  act: (client: Redis) => Promise<T>,
  password?: string,
): Promise<T> {
  if (server.client) return act(server.client);
  const client = new Redis({
    port: server.port,
    host: '127.0.0.1',
    maxRetriesPerRequest: 20,
    ...(password !== undefined && { password }),
  });
  // Without a listener every failed attempt to connect is printed.
  client.on('error', () => undefined);
  try {
    return await act(client);
  } finally {
    client.disconnect();
  }
}

/** Kills a master (SIGKILL) and waits until one of its replicas serves instead. Answers which. */
export async function killMaster(
  master: RedisServer,
  replicas: readonly RedisServer[],
): Promise<RedisServer> {
  await master.kill('SIGKILL');
  return untilPromoted(replicas);
}

/** Redis gives up a handover that has not come about by then; on a busy machine it may not have. */
const ASK_AGAIN_MS = 6_000;

/** Lets a replica of a cluster take over from its master without loss, and waits until it has. */
export async function failOverGracefully(replica: RedisServer): Promise<void> {
  await withClient(replica, async (client) => {
    let askedAt = -Infinity;
    await until('the replica has taken over', async () => {
      if (await isServingMaster(replica)) return true;
      if (performance.now() - askedAt > ASK_AGAIN_MS) {
        askedAt = performance.now();
        // It may just have taken over, or be too far behind to be asked now.
        await client.call('CLUSTER', 'FAILOVER').catch(() => undefined);
      }
      return false;
    });
  });
}

/** Waits until one of the replicas is a master that serves. Answers which. */
export async function untilPromoted(replicas: readonly RedisServer[]): Promise<RedisServer> {
  let promoted: RedisServer | undefined;
  await until('a replica has been promoted', async () => {
    const serving = await Promise.all(replicas.map(isServingMaster));
    promoted = replicas.find((_, i) => serving[i]);
    return promoted !== undefined;
  });
  return promoted as RedisServer;
}

/** Waits until the replicas of a master have acknowledged everything that it has written so far. */
export async function untilInStep(master: RedisServer): Promise<void> {
  await withClient(master, async (client) => {
    const wanted = Number(/master_repl_offset:(\d+)/.exec(await client.info('replication'))?.[1]);
    await until('the replicas are in step', async () => {
      const offsets = [...(await client.info('replication')).matchAll(/^slave\d+:.*offset=(\d+)/gm)];
      return offsets.length > 0 && offsets.every(([, offset]) => Number(offset) >= wanted);
    });
  });
}

async function isServingMaster(server: RedisServer): Promise<boolean> {
  return withClient(server, async (client) => {
    const info = await client.info();
    if (!info.includes('role:master')) return false;
    if (!info.includes('cluster_enabled:1')) return true;
    return String(await client.call('CLUSTER', 'INFO')).includes('cluster_state:ok');
  });
}

/**
 * Holds a replica back: stops it and cuts its link to the master, so that nothing the master accepts from now on is
 * even on its way. Answers a function that lets it run again.
 */
export async function holdBack(replica: RedisServer, master: RedisServer): Promise<() => void> {
  process.kill(replica.pid, 'SIGSTOP');
  await withClient(master, (client) => client.call('CLIENT', 'KILL', 'TYPE', 'replica'));
  return () => void process.kill(replica.pid, 'SIGCONT');
}
