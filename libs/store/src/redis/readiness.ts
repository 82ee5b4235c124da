import { Cluster, type Redis } from 'ioredis';
import type { Readiness } from '../store.js';
import type { Connection } from './connection.js';

/** Whether Redis can serve, and settings of it that can lose data. */
export async function redisReadiness(connection: Connection, timeoutMs: number): Promise<Readiness> {
  const unready = { ready: false, reason: 'Redis does not answer', warnings: [] };
  if (!connection.connected) return { ...unready, reason: connection.fault };
  try {
    const { client } = connection;
    const clustered = client instanceof Cluster;
    const nodes = clustered ? client.nodes('master') : [client];
    const deadline = Date.now() + timeoutMs;
    if (clustered) {
      const info = await connection.repeat(() => client.cluster('INFO'), deadline);
      if (field(info, 'cluster_state') !== 'ok') return { ...unready, reason: 'the Redis cluster is down' };
    }
    const found = await Promise.all(
      nodes.map((node) => connection.repeat(() => nodeWarnings(node, clustered), deadline)),
    );
    return { ready: true, warnings: [...new Set(found.flat())] };
  } catch {
    return unready;
  }
}

async function nodeWarnings(node: Redis, clustered: boolean): Promise<string[]> {
  const info = await node.info();
  const warnings: string[] = [];
  const policy = field(info, 'maxmemory_policy');
  // Nothing of ours has a time to live, so volatile-* evicts nothing of it.
  if (policy?.startsWith('allkeys-')) {
    warnings.push(`Redis evicts keys (maxmemory-policy ${policy}): filters can be lost; use noeviction`);
  }
  if (field(info, 'aof_enabled') === '0') {
    warnings.push('Redis keeps no append-only file: a crash of it loses what was not saved');
  }
  if (clustered && field(info, 'connected_slaves') === '0') {
    warnings.push('a master of the Redis cluster has no replica');
  }
  return warnings;
}

function field(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:([^\\r\\n]*)`, 'm').exec(info)?.[1];
}
