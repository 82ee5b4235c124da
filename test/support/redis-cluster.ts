import { Redis } from 'ioredis';
import { freePort, startRedis, type RedisServer } from './redis-server.js';
import { until } from './until.js';

/** A real Redis Cluster on loopback: masters only, all slots served. */
export interface RedisCluster {
  /** `host:port` of every master. */
  readonly nodes: readonly string[];
  readonly servers: readonly RedisServer[];
  stop(): Promise<void>;
}

const SLOTS = 16384;
const FORM_MS = 20_000;

export async function startCluster(masters = 3): Promise<RedisCluster> {
  const started = await Promise.allSettled(Array.from({ length: masters }, startNode));
  const nodes = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const stop = async () => {
    await Promise.all(nodes.map(({ server }) => server.stop()));
  };
  try {
    const failed = started.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
    await join(nodes);
  } catch (error) {
    await stop();
    throw error;
  }
  const servers = nodes.map(({ server }) => server);
  return { nodes: servers.map(({ port }) => `127.0.0.1:${port}`), servers, stop };
}

interface Node {
  readonly server: RedisServer;
  /** Port of the cluster bus; the default, 10,000 above the first, need not be free or even exist. */
  readonly busPort: number;
}

async function startNode(): Promise<Node> {
  const busPort = await freePort();
  const args = [
    '--cluster-enabled',
    'yes',
    '--cluster-port',
    String(busPort),
    '--cluster-node-timeout',
    '2000',
  ];
  return { server: await startRedis({ args }), busPort };
}

/** Deals the slots out in equal ranges, introduces the nodes to the first, waits until all see all slots served. */
async function join(nodes: readonly Node[]): Promise<void> {
  const clients = nodes.map(({ server }) => new Redis(server.port, '127.0.0.1'));
  try {
    const [first, ...others] = clients as [Redis, ...Redis[]];
    for (const [i, client] of clients.entries()) {
      const from = Math.round((i * SLOTS) / nodes.length);
      const to = Math.round(((i + 1) * SLOTS) / nodes.length) - 1;
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
      await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
    }
    for (const [i] of others.entries()) {
      const { server, busPort } = nodes[i + 1] as Node;
      await first.call('CLUSTER', 'MEET', '127.0.0.1', server.port, busPort);
    }
    await until('the cluster has formed', FORM_MS, async () => {
      const infos = await Promise.all(clients.map((client) => client.call('CLUSTER', 'INFO')));
      return infos.every((info) => isWhole(String(info), nodes.length));
    });
  } finally {
    for (const client of clients) client.disconnect();
  }
}

function isWhole(info: string, masters: number): boolean {
  const expected = ['cluster_state:ok', `cluster_slots_ok:${SLOTS}`, `cluster_size:${masters}`];
  return expected.every((line) => info.includes(line));
}
