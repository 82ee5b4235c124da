import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { describe, expect, it } from '@jest/globals';
import { RedisStore, type RedisStoreOptions } from '#store/redis';
import { CATALOGUE } from '../../libs/store/src/redis/layout/keys.js';
import { makeFilter } from '../contract/calls.js';
import { startCluster } from '../support/redis-cluster.js';
import { withClient } from '../support/redis-failover.js';
import { startSentinel } from '../support/redis-sentinel.js';
import { freePort, startRedis } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { Failover, masterOf } from './failover.js';

const SAFE = ['--appendonly', 'yes', '--appendfsync', 'always'];
const NOTHING_KEPT = 'Redis keeps nothing on disk: a restart loses every filter; set appendonly yes';

async function readinessOf(options: Omit<RedisStoreOptions, 'timeoutMs'>) {
  const store = await RedisStore.open({ ...options, timeoutMs: 10_000 });
  try {
    return await store.readiness();
  } finally {
    await store.close();
  }
}

describe('readiness on Redis warns of settings that can lose data', () => {
  it.each<[string, string[], (string | RegExp)[]]>([
    ['nothing on disk', [], [NOTHING_KEPT]],
    ['snapshots only', ['--save', '3600', '1'], [/^Redis keeps no append-only file/]],
    ['appendfsync no', ['--appendonly', 'yes', '--appendfsync', 'no'], [/\(appendfsync no\)/]],
    [
      'appendfsync everysec',
      ['--appendonly', 'yes', '--appendfsync', 'everysec'],
      [/\(appendfsync everysec\)/],
    ],
    ['appendfsync always', SAFE, []],
    [
      'eviction of any key',
      [...SAFE, '--maxmemory-policy', 'allkeys-lfu'],
      [/^Redis evicts keys .*allkeys-lfu/],
    ],
    ['eviction of keys with a time to live', [...SAFE, '--maxmemory-policy', 'volatile-lru'], []],
  ])('%s', async (_, args, expected) => {
    const server = await startRedis({ args });
    try {
      const { ready, warnings } = await readinessOf({ url: server.url });
      expect(ready).toBe(true);
      expect(warnings).toEqual(
        expected.map((one) => (typeof one === 'string' ? one : expect.stringMatching(one))),
      );
    } finally {
      await server.stop();
    }
  });

  it('everysec is enough if writes wait for a replica', async () => {
    const everySecond = ['--appendonly', 'yes', '--appendfsync', 'everysec'];
    const watched = await startSentinel({ sentinels: 1, args: everySecond });
    try {
      const sentinel = { nodes: watched.nodes, master: watched.name };
      expect(await readinessOf({ sentinel, waitReplicas: 1 })).toEqual({ ready: true, warnings: [] });
      expect((await readinessOf({ sentinel })).warnings).toEqual([expect.stringMatching(/everysec/)]);
      await watched.replicas[0]?.stop();
      await withClient(watched.master, (client) =>
        until('the master has no replica', async () =>
          (await client.info('replication')).includes('connected_slaves:0'),
        ),
      );
      expect((await readinessOf({ sentinel })).warnings).toContain(
        'the Redis master has no replica that a Sentinel could promote',
      );
      expect((await readinessOf({ sentinel, waitReplicas: 1 })).warnings).toEqual([
        expect.stringMatching(/^a Redis master has fewer replicas \(0\) than REDIS_WAIT_REPLICAS \(1\)/),
      ]);
    } finally {
      await watched.stop();
    }
  });

  it('masters of a cluster without replicas', async () => {
    const cluster = await startCluster({ args: SAFE });
    try {
      expect(await readinessOf({ clusterNodes: cluster.nodes })).toEqual({
        ready: true,
        warnings: ['a master of the Redis cluster has no replica: if it is lost, so are its segments'],
      });
    } finally {
      await cluster.stop();
    }
  });
});

describe('readiness on a cluster', () => {
  it('says if the master of the catalogue has lost its data, and not if another master has', async () => {
    const cluster = await startCluster();
    const store = await RedisStore.open({ clusterNodes: cluster.nodes, timeoutMs: 10_000 });
    try {
      await makeFilter(store);
      const catalogue = masterOf(CATALOGUE.filters);
      for (const master of [(catalogue + 1) % 3, catalogue]) {
        expect((await store.readiness()).lost).toBeUndefined();
        await withClient(cluster.servers[master]!, (client) => client.flushall());
      }
      expect((await store.readiness()).lost).toBe(true);
    } finally {
      await store.close();
      await cluster.stop();
    }
  });

  it('does not say so after a failover to a replica without the last writes, and when the old master comes back', async () => {
    const failover = await Failover.start();
    const store = await failover.open();
    let losses = 0;
    const ready = async () => {
      const { ready, lost } = await store.readiness();
      if (lost) losses++;
      return ready;
    };
    try {
      await makeFilter(store);
      const catalogue = masterOf(CATALOGUE.filters);
      await failover.losing(catalogue, () => makeFilter(store));
      await until('the store is ready', ready);
      const back = failover.rejoin(catalogue).then(() => true);
      for (let isBack = false; !isBack;) isBack = await Promise.race([back, ready().then(() => false)]);
      await until('the store is ready', ready);
      expect(losses).toBe(0);
    } finally {
      await store.close();
      await failover.cluster.stop();
    }
  });
});

describe('a closed store', () => {
  it('leaves no timer, even if Redis was never available', async () => {
    const url = `redis://127.0.0.1:${await freePort()}`;
    const ofStore = new AsyncLocalStorage<true>();
    const timers = new Set<number>();
    const hook = createHook({
      init(id, type) {
        if (type === 'Timeout' && ofStore.getStore()) timers.add(id);
      },
      destroy: (id) => void timers.delete(id),
    }).enable();
    try {
      const store = await ofStore.run(true, async () => {
        const opened = await RedisStore.open({ url, timeoutMs: 300 });
        expect(await opened.readiness()).toMatchObject({ ready: false, reason: 'Redis cannot be reached' });
        return opened;
      });
      await until('the store waits before the next attempt to connect', async () => timers.size > 0);
      await ofStore.run(true, () => store.close());
      await until('the store has no timers left', async () => timers.size === 0);
    } finally {
      hook.disable();
    }
  });
});
