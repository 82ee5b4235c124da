import calculateSlot from 'cluster-key-slot';
import type { Filter } from '#store';
import { RedisStore, type RedisStoreOptions } from '#store/redis';
import { RedisFilter } from '../../libs/store/src/redis/layout/filter.js';
import { SLOTS, startCluster, type RedisCluster } from '../support/redis-cluster.js';
import { holdBack, killMaster, untilInStep, withClient } from '../support/redis-failover.js';
import type { RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';

/** Long enough for a cluster to settle. */
const PATIENCE_MS = 60_000;

/** A cluster of three masters with one replica each. Tests kill its masters. */
export class Failover {
  private constructor(readonly cluster: RedisCluster) {}

  static async start(): Promise<Failover> {
    return new Failover(await startCluster({ replicas: 1 }));
  }

  master(at: number): RedisServer {
    return this.cluster.servers[at] as RedisServer;
  }

  replica(at: number): RedisServer {
    return this.cluster.replicas[at] as RedisServer;
  }

  open(options: Partial<Pick<RedisStoreOptions, 'clock' | 'waitReplicas'>> = {}): Promise<RedisStore> {
    return RedisStore.open({ clusterNodes: this.cluster.nodes, timeoutMs: PATIENCE_MS, ...options });
  }

  /** Kills a master whose replica lacks exactly the writes of `act`, and waits until the replica has taken over. */
  async losing(at: number, act: () => Promise<unknown>): Promise<void> {
    await untilInStep(this.master(at));
    const letGo = await holdBack(this.replica(at), this.master(at));
    await act();
    await this.master(at).kill('SIGKILL');
    letGo();
    await killMaster(this.master(at), [this.replica(at)]);
  }

  /** Restarts a killed master, which becomes a replica of its successor. */
  async rejoin(at: number): Promise<void> {
    await this.master(at).restart();
    await withClient(this.master(at), (client) =>
      until('the old master has become a replica', async () =>
        (await client.info('replication')).includes('master_link_status:up'),
      ),
    );
  }
}

/** The number of the master that served a Redis key's slot when the cluster was created. */
export const masterOf = (key: string) => Math.floor((calculateSlot(key) * 3) / SLOTS);

export const masterOfSegment = (filter: Filter, segment: number) =>
  masterOf(RedisFilter.of(filter).segments[segment]?.cells ?? '');
