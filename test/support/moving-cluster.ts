import type { Redis } from 'ioredis';
import type { Filter } from '#store';
import type { RedisStore, RedisStoreOptions } from '#store/redis';
import { limitedUser } from './redis-acl.js';
import { startCluster } from './redis-cluster.js';
import type { RedisServer } from './redis-server.js';
import { SlotMover } from './slot-mover.js';
import { RedisServersHarness, TIMEOUT_MS, type StoreFixture } from './stores.js';
import type { Damage } from './embedded-damage.js';

/**
 * Three masters that keep moving slots between each other. The stores have only the permissions that docs/operations.md
 * lists.
 */
export const movingCluster: StoreFixture<MovingClusterHarness> = {
  name: 'redis-cluster with moving slots',
  // Moved slots don't come back, and clients then read ever longer lists of slots.
  testsAPlace: 200,
  spread: 3,
  async setUp() {
    const { args, ...credentials } = limitedUser();
    const cluster = await startCluster({ args });
    const mover = new SlotMover(cluster.servers);
    return new MovingClusterHarness(
      { clusterNodes: cluster.nodes, ...credentials, timeoutMs: 5 * TIMEOUT_MS },
      cluster.servers,
      async () => {
        await mover.stop();
        await cluster.stop();
      },
      mover,
    );
  },
};

/** Pauses the slot moves while a test reads or changes the servers directly. */
export class MovingClusterHarness extends RedisServersHarness {
  constructor(
    options: RedisStoreOptions,
    servers: readonly RedisServer[],
    stop: () => Promise<void>,
    readonly mover: SlotMover,
  ) {
    super(options, servers, stop);
  }

  override damage(filter: Filter, segment: number, how: Damage): Promise<RedisStore> {
    return this.still(() => super.damage(filter, segment, how));
  }

  override kept(): Promise<string[]> {
    return this.still(() => super.kept());
  }

  override still<T>(act: () => Promise<T>): Promise<T> {
    return this.mover.still(act);
  }

  /** The number of times that the masters have replied with this error. */
  async errors(name: string): Promise<number> {
    const counts = await Promise.all(this.clients.map((client) => errorsOf(client, name)));
    return counts.reduce((sum, count) => sum + count, 0);
  }
}

async function errorsOf(client: Redis, name: string): Promise<number> {
  const stats = await client.info('errorstats');
  return Number(new RegExp(`^errorstat_${name}:count=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
}
