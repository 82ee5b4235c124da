import { Redis } from 'ioredis';
import type { RedisServer } from './redis-server.js';
import { until } from './until.js';

/** A server to connect to. */
export interface Reached {
  readonly port: number;
  /** An existing connection, for many calls: connecting takes longer than a call. */
  readonly client?: Redis;
}

/** Runs `act` with a client for one server. The client ignores the rest of the cluster. */
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
  // Without a listener, every failed connection attempt is printed.
  client.on('error', () => undefined);
  try {
    return await act(client);
  } finally {
    client.disconnect();
  }
}

/** Kills a master (SIGKILL) and waits until a replica serves in its place. Returns that replica. */
export async function killMaster(
  master: RedisServer,
  replicas: readonly RedisServer[],
): Promise<RedisServer> {
  await master.kill('SIGKILL');
  return untilPromoted(replicas);
}

/** Redis gives up a failover after this time, which a busy machine may exceed. */
const ASK_AGAIN_MS = 6_000;

/** Makes a replica take over from its master without data loss, and waits until it has. */
export async function failOverGracefully(replica: RedisServer): Promise<void> {
  await withClient(replica, async (client) => {
    let askedAt = -Infinity;
    await until('the replica has taken over', async () => {
      if (await isServingMaster(replica)) return true;
      if (performance.now() - askedAt > ASK_AGAIN_MS) {
        askedAt = performance.now();
        // The replica may have just taken over, or be too far behind to accept the command now.
        await client.call('CLUSTER', 'FAILOVER').catch(() => undefined);
      }
      return false;
    });
  });
}

/** Waits until one of the replicas serves as master. Returns that replica. */
export async function untilPromoted(replicas: readonly RedisServer[]): Promise<RedisServer> {
  let promoted: RedisServer | undefined;
  await until('a replica has been promoted', async () => {
    const serving = await Promise.all(replicas.map(isServingMaster));
    promoted = replicas.find((_, i) => serving[i]);
    return promoted !== undefined;
  });
  return promoted as RedisServer;
}

/** Waits until a master's replicas have acknowledged all its writes so far. */
export async function untilInStep(master: RedisServer): Promise<void> {
  await withClient(master, async (client) => {
    const wanted = Number(/master_repl_offset:(\d+)/.exec(await client.info('replication'))?.[1]);
    await until('the replicas have caught up', async () => {
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
 * Stops a replica and cuts its link to the master, so that it receives nothing that the master writes from now on.
 * Returns a function that resumes it.
 */
export async function holdBack(replica: RedisServer, master: RedisServer): Promise<() => void> {
  process.kill(replica.pid, 'SIGSTOP');
  await withClient(master, (client) => client.call('CLIENT', 'KILL', 'TYPE', 'replica'));
  return () => void process.kill(replica.pid, 'SIGCONT');
}
