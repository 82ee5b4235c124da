import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { startCluster } from './redis-cluster.js';
import { startRedis } from './redis-server.js';

async function ask(port: number, ...command: [string, ...string[]]): Promise<unknown> {
  const client = new Redis(port, '127.0.0.1');
  try {
    return await client.call(...command);
  } finally {
    client.disconnect();
  }
}

describe('servers of the tests', () => {
  it('start on ports of their own, restart on the same, and are gone after stop', async () => {
    const [one, other] = await Promise.all([startRedis(), startRedis({ args: ['--appendonly', 'yes'] })]);
    expect(one.port).not.toBe(other.port);
    await ask(one.port, 'SET', 'key', 'kept nowhere');
    await ask(other.port, 'SET', 'key', 'kept');
    await Promise.all([one.restart(), other.restart()]);
    expect(await ask(one.port, 'GET', 'key')).toBeNull();
    expect(await ask(other.port, 'GET', 'key')).toBe('kept');
    const pid = one.pid;
    await Promise.all([one.stop(), other.stop()]);
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  it('form a cluster that serves every slot', async () => {
    const cluster = await startCluster(3);
    try {
      expect(new Set(cluster.nodes).size).toBe(3);
      for (const { port } of cluster.servers) {
        expect(await ask(port, 'CLUSTER', 'INFO')).toContain('cluster_slots_ok:16384');
      }
    } finally {
      await cluster.stop();
    }
  });
});
