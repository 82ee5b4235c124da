import { Redis } from 'ioredis';
import { freePort, startRedis, type RedisServer } from './redis-server.js';
import { tlsArgs } from './redis-tls.js';
import { until } from './until.js';

/** A real Redis Cluster on loopback that serves all slots. */
export interface RedisCluster {
  /** `host:port` of every initial master. It is the encrypted port if the cluster has one. */
  readonly nodes: readonly string[];
  /** The initial masters, in the order of their slots. */
  readonly servers: readonly RedisServer[];
  /** The initial replicas. The first master's replicas come first, then the second's, and so on. */
  readonly replicas: readonly RedisServer[];
  /** Starts masters without slots, and introduces them to the cluster. */
  addMasters(count: number): Promise<readonly RedisServer[]>;
  stop(): Promise<void>;
}

export interface ClusterOptions {
  /** Default: 3. */
  readonly masters?: number;
  /** Replicas per master. Default: none. */
  readonly replicas?: number;
  /** Arguments for every node. */
  readonly args?: readonly string[];
  /** Nodes use TLS between each other and with clients. The plain ports stay open for the tests. */
  readonly tls?: boolean;
}

export const SLOTS = 16384;

interface Node {
  readonly server: RedisServer;
  /** The port that the cluster announces to clients. */
  readonly port: number;
  /** The cluster bus's port. The default, `port` + 10,000, may be taken or above 65,535. */
  readonly busPort: number;
}

export async function startCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const { masters = 3, replicas = 0, args = [], tls = false } = options;
  const count = masters * (1 + replicas);
  const nodes: Node[] = [];
  const stop = async () => {
    await Promise.all(nodes.map(({ server }) => server.stop()));
  };
  const start = async (more: number) => {
    const started = await Promise.allSettled(Array.from({ length: more }, () => startNode(args, tls)));
    nodes.push(...started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
    const failed = started.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  };
  try {
    await start(count);
    await join(nodes, masters);
  } catch (error) {
    await stop();
    throw error;
  }
  const servers = nodes.map(({ server }) => server);
  return {
    nodes: nodes.slice(0, masters).map(({ port }) => `127.0.0.1:${port}`),
    servers: servers.slice(0, masters),
    replicas: servers.slice(masters),
    async addMasters(more) {
      const before = nodes.length;
      await start(more);
      await joinEmpty(nodes, before, masters);
      return nodes.slice(before).map(({ server }) => server);
    },
    stop,
  };
}

async function startNode(args: readonly string[], tls: boolean): Promise<Node> {
  const busPort = await freePort();
  const tlsPort = tls ? await freePort() : undefined;
  const encrypted =
    tlsPort === undefined ? [] : [...tlsArgs(tlsPort), '--tls-cluster', 'yes', '--tls-replication', 'yes'];
  const cluster = ['--cluster-enabled', 'yes', '--cluster-port', String(busPort)];
  // Nodes that a busy machine delays for seconds must not declare each other dead.
  const timing = ['--cluster-node-timeout', '4000', '--repl-diskless-sync-delay', '0'];
  const server = await startRedis({ args: [...cluster, ...timing, ...encrypted, ...args] });
  return { server, port: tlsPort ?? server.port, busPort };
}

/** Assigns the slots to the masters, introduces all nodes to the first, and attaches replicas to each master. */
async function join(nodes: readonly Node[], masters: number): Promise<void> {
  const clients = nodes.map(({ server }) => new Redis(server.port, '127.0.0.1'));
  try {
    const [first] = clients as [Redis, ...Redis[]];
    for (const [i, client] of clients.entries()) {
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
      if (i >= masters) continue;
      const [from, to] = slotRange(i, masters);
      await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
    }
    await meet(first, nodes.slice(1));
    await untilFormed(clients, masters);
    await attachReplicas(clients, masters);
  } finally {
    for (const client of clients) client.disconnect();
  }
}

/** Introduces the nodes from `before` on, which get no slots, to the first. */
async function joinEmpty(nodes: readonly Node[], before: number, masters: number): Promise<void> {
  const clients = nodes.map(({ server }) => new Redis(server.port, '127.0.0.1'));
  try {
    await meet(clients[0] as Redis, nodes.slice(before));
    await untilFormed(clients, masters);
  } finally {
    for (const client of clients) client.disconnect();
  }
}

async function meet(first: Redis, nodes: readonly Node[]): Promise<void> {
  for (const { port, busPort } of nodes) await first.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
}

/** A master's first and last slots. */
function slotRange(master: number, masters: number): [number, number] {
  return [Math.round((master * SLOTS) / masters), Math.round(((master + 1) * SLOTS) / masters) - 1];
}

async function untilFormed(clients: readonly Redis[], masters: number): Promise<void> {
  const expected = [
    'cluster_state:ok',
    `cluster_slots_ok:${SLOTS}`,
    `cluster_known_nodes:${clients.length}`,
    `cluster_size:${masters}`,
  ];
  await until('the cluster has formed', async () => {
    const infos = await Promise.all(clients.map((client) => client.call('CLUSTER', 'INFO')));
    return infos.every((info) => expected.every((line) => String(info).includes(line)));
  });
}

/** Resolves when each replica has its master's data and every node knows that. */
async function attachReplicas(clients: readonly Redis[], masters: number): Promise<void> {
  const replicas = clients.slice(masters);
  const each = replicas.length / masters;
  for (const [i, replica] of replicas.entries()) {
    const master = clients[Math.floor(i / each)] as Redis;
    await replica.call('CLUSTER', 'REPLICATE', String(await master.call('CLUSTER', 'MYID')));
  }
  await until('the replicas have caught up', async () => {
    const roles = await Promise.all(replicas.map((replica) => replica.info('replication')));
    const views = await Promise.all(clients.map((client) => client.call('CLUSTER', 'NODES')));
    return (
      roles.every((role) => role.includes('master_link_status:up')) &&
      views.every(
        (view) => String(view).match(/\bslave\b/g)?.length === replicas.length || replicas.length === 0,
      )
    );
  });
}
