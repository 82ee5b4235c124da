import { Cluster, type Redis } from 'ioredis';
import { deadlineIn } from '../../clock.js';
import { StoreError } from '../../errors.js';
import { joinAll } from '../../join-all.js';
import type { Readiness } from '../../port/index.js';
import type { Connection, ConnectionOptions } from './connection.js';

/**
 * Whether Redis can serve, and warnings about settings that can lose data.
 *
 * @param faultInData finds out why this version can't use the data in Redis, if so.
 */
export async function redisReadiness(
  connection: Connection,
  options: ConnectionOptions,
  faultInData: () => Promise<Error | undefined>,
): Promise<Readiness> {
  const unready = { ready: false, reason: 'Redis does not answer', warnings: [] };
  if (!connection.connected) return { ...unready, reason: connection.fault };
  try {
    const { client } = connection;
    const clustered = client instanceof Cluster;
    const nodes = clustered ? client.nodes('master') : [client];
    const deadline = deadlineIn(options.timeoutMs);
    if (clustered) {
      const info = await connection.repeat(() => client.cluster('INFO'), deadline);
      if (field(info, 'cluster_state') !== 'ok') return { ...unready, reason: 'the Redis cluster is down' };
    }
    const fault = await faultInData();
    if (fault) return { ...unready, reason: fault.message };
    const found = await joinAll(
      nodes.map((node) => connection.repeat(() => nodeWarnings(node, options), deadline)),
    );
    return { ready: true, warnings: [...new Set(found.flat())] };
  } catch (error) {
    return error instanceof StoreError ? { ...unready, reason: error.message } : unready;
  }
}

async function nodeWarnings(node: Redis, options: ConnectionOptions): Promise<string[]> {
  const info = await node.info();
  const policy = field(info, 'maxmemory_policy') ?? '';
  return [
    // Filter data has no time to live, so volatile-* policies don't evict it.
    policy.startsWith('allkeys-')
      ? `Redis evicts keys (maxmemory-policy ${policy}): filters can be lost; use noeviction`
      : undefined,
    await persistenceWarning(node, info, options.waitReplicas ?? 0),
    replicaWarning(Number(field(info, 'connected_slaves') ?? 0), options),
  ].filter((warning) => warning !== undefined);
}

/** If a replica must acknowledge each write, it has the last second's writes, even if this server's disk doesn't. */
async function persistenceWarning(
  node: Redis,
  info: string,
  waitReplicas: number,
): Promise<string | undefined> {
  if (field(info, 'aof_enabled') === '0') {
    return (await setting(node, 'save')) === ''
      ? 'Redis keeps nothing on disk: a restart loses every filter; set appendonly yes'
      : 'Redis keeps no append-only file: a crash loses all changes since its last snapshot; set appendonly yes';
  }
  const fsync = await setting(node, 'appendfsync');
  if (fsync === 'no') {
    return 'Redis lets the system decide when to write to disk (appendfsync no): a crash of its machine loses about the last 30 seconds; set appendfsync everysec';
  }
  return fsync === 'everysec' && waitReplicas === 0
    ? 'Redis writes to disk every second (appendfsync everysec): a crash of its machine loses the last second'
    : undefined;
}

function replicaWarning(
  replicas: number,
  { clusterNodes, sentinel, waitReplicas = 0 }: ConnectionOptions,
): string | undefined {
  if (replicas < waitReplicas) {
    return `a Redis master has fewer replicas (${replicas}) than REDIS_WAIT_REPLICAS (${waitReplicas}): changes are refused`;
  }
  if (replicas > 0) return undefined;
  if (clusterNodes) return 'a master of the Redis cluster has no replica: if it is lost, so are its segments';
  return sentinel ? 'the Redis master has no replica that a Sentinel could promote' : undefined;
}

/** A server setting, or undefined if the user may not read it, as on hosted servers. */
async function setting(node: Redis, name: string): Promise<string | undefined> {
  const reply: unknown = await node.call('CONFIG', 'GET', name).catch(() => undefined);
  const value: unknown = Array.isArray(reply) ? reply[1] : undefined;
  return typeof value === 'string' ? value : undefined;
}

function field(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:([^\\r\\n]*)`, 'm').exec(info)?.[1];
}
