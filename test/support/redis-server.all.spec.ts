import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { startCluster } from './redis-cluster.js';
import { failOverGracefully, killMaster, untilInStep } from './redis-failover.js';
import { startSentinel } from './redis-sentinel.js';
import { startRedis, type RedisServer } from './redis-server.js';
import { moveSlots } from './redis-slots.js';
import { until } from './until.js';

async function ask(port: number, ...command: [string, ...string[]]): Promise<unknown> {
  const client = new Redis(port, '127.0.0.1');
  try {
    return await client.call(...command);
  } finally {
    client.disconnect();
  }
}

describe('test servers', () => {
  it('use different ports, restart on the same port, and are gone after stop', async () => {
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
    const cluster = await startCluster();
    try {
      expect(new Set(cluster.nodes).size).toBe(3);
      for (const { port } of cluster.servers) {
        expect(await ask(port, 'CLUSTER', 'INFO')).toContain('cluster_slots_ok:16384');
      }
    } finally {
      await cluster.stop();
    }
  });

  it('fail over in a cluster, on request and after a kill, and move slots', async () => {
    const cluster = await startCluster({ replicas: 1 });
    try {
      const [first, second, third] = cluster.servers as [RedisServer, RedisServer, RedisServer];
      const replica = cluster.replicas[0] as RedisServer;
      // The last master has slot 12182, the slot of "foo".
      await ask(third.port, 'SET', 'foo', 'bar');
      expect(await moveSlots(third, second, [12182, 12183])).toBe(1);
      expect(await ask(second.port, 'GET', 'foo')).toBe('bar');
      await failOverGracefully(replica);
      await until('the old master has become a replica', async () =>
        String(await ask(first.port, 'ROLE')).startsWith('slave'),
      );
      // Nodes vote only for a replica whose link was up.
      await untilInStep(replica);
      expect(await killMaster(replica, [first])).toBe(first);
    } finally {
      await cluster.stop();
    }
  });

  it('fail over with Sentinel', async () => {
    const watched = await startSentinel();
    try {
      const promoted = await killMaster(watched.master, watched.replicas);
      const port = watched.sentinels[0]?.port ?? 0;
      await until('the Sentinels name it', async () => {
        const address = await ask(port, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', watched.name);
        return String(address) === `127.0.0.1,${promoted.port}`;
      });
    } finally {
      await watched.stop();
    }
  });
});
