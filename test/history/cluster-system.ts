import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster } from '../support/redis-cluster.js';
import { failOverGracefully, holdBack, untilPromoted, withClient } from '../support/redis-failover.js';
import type { RedisServer } from '../support/redis-server.js';
import { moveSlots } from '../support/redis-slots.js';
import type { Random } from '../support/random.js';
import { until } from '../support/until.js';
import type { Answers } from './answers.js';
import type { Death } from './attempt.js';
import { between, type FaultSource, type System } from './system.js';
import { storeCut, storePause } from './store-faults.js';
import { servicesOn } from './systems.js';

/** Shorter than the cluster's node timeout, so a paused master isn't replaced. */
const MOST_PAUSE_MS = 1_200;
/** Replicas lag for less than the node timeout, and for less than the losses that LAST_WRITES allows. */
const MOST_LAG_MS = 500;
const MOST_SLOTS_MOVED = 3;

/** Two services that share a cluster of three masters with one replica each. */
export async function clusterSystem(waitReplicas: number): Promise<System> {
  const cluster = await startCluster({ replicas: 1 });
  const shards = cluster.servers.map((master, i) => new Shard(master, cluster.replicas[i] as RedisServer));
  const env = {
    REDIS_CLUSTER: cluster.nodes.join(),
    REDIS_TIMEOUT_MS: '1000',
    ...(waitReplicas > 0 && { REDIS_WAIT_REPLICAS: String(waitReplicas) }),
  };
  const heal = async () => {
    for (const shard of shards) await shard.inStep();
  };
  return servicesOn({ envs: [env, env], faults: clusterFaults(shards), heal, release: cluster.stop });
}

/** A master and its replica, which may swap roles. */
class Shard {
  constructor(
    public master: RedisServer,
    private replica: RedisServer,
  ) {}

  /**
   * Kills the master, and loses the writes that its replica has not received in the last `lagMs`.
   * Returns the time when it died.
   */
  async fail(lagMs: number, answers: Answers): Promise<Death> {
    const heldAt = performance.now();
    const letRun = lagMs > 0 ? await holdBack(this.replica, this.master) : undefined;
    await sleep(lagMs);
    await answers.next(MOST_LAG_MS);
    const diedAt = performance.now();
    await this.master.kill('SIGKILL');
    letRun?.();
    await untilPromoted([this.replica]);
    this.swap();
    await this.replica.restart();
    await this.inStep();
    return { diedAt, ...(lagMs > 0 && { heldAt }) };
  }

  async handOver(): Promise<void> {
    await failOverGracefully(this.replica);
    this.swap();
    await this.inStep();
  }

  /** Resolves when the replica has all its master's data. */
  async inStep(): Promise<void> {
    await until('the replica has caught up', () =>
      withClient(this.replica, async (client) => {
        const info = await client.info('replication');
        return info.includes(`master_port:${this.master.port}\r`) && info.includes('master_link_status:up');
      }),
    );
  }

  private swap(): void {
    [this.master, this.replica] = [this.replica, this.master];
  }
}

function clusterFaults(shards: readonly Shard[]): FaultSource[] {
  let turn = 0;
  const next = () => (shards[turn++ % shards.length] as Shard).master;
  return [
    storePause(next, MOST_PAUSE_MS),
    storeCut(next),
    {
      kind: 'failover',
      group: 'processes',
      strike: (random, answers) =>
        random.pick(shards).fail(random.pick([0, between(random, 50, MOST_LAG_MS)]), answers),
    },
    {
      kind: 'handover',
      group: 'processes',
      async strike(random) {
        await random.pick(shards).handOver();
        return undefined;
      },
    },
    {
      kind: 'move',
      group: 'processes',
      async strike(random) {
        await moveSome(shards, random);
        return undefined;
      },
    },
  ];
}

/** Moves slots that hold segments from one master to another. A segment's Redis keys move in two steps. */
async function moveSome(shards: readonly Shard[], random: Random): Promise<void> {
  const from = random.below(shards.length);
  const to = (from + 1 + random.below(shards.length - 1)) % shards.length;
  const { master } = shards[from] as Shard;
  const slots = await slotsWithSegments(master);
  const chosen = slots.slice(0, 1 + random.below(MOST_SLOTS_MOVED));
  const halfWay = () => sleep(between(random, 0, 300));
  await moveSlots(master, (shards[to] as Shard).master, chosen, halfWay);
}

async function slotsWithSegments(master: RedisServer): Promise<number[]> {
  return withClient(master, async (client) => {
    const keys = await client.keys('unseen:*:cells');
    const slots = await Promise.all(keys.map((key) => client.call('CLUSTER', 'KEYSLOT', key)));
    return slots.map(Number);
  });
}
