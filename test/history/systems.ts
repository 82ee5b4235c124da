import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedis } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { linkFaults, storeCut, storeKill, storePause } from './store-faults.js';
import { ServiceInstance } from './service-instance.js';
import { between, NEXT_ANSWER_MS, type FaultSource, type System } from './system.js';

/** One service on the embedded store. */
export async function embeddedSystem(): Promise<System> {
  const dataDir = await mkdtemp(join(tmpdir(), 'unseen-history-'));
  const removeData = () => rm(dataDir, { recursive: true, force: true });
  return servicesOn({ envs: [{ DATA_DIR: dataDir }], faults: [], release: removeData });
}

/** Two services that share a Redis, each through its own proxy. Redis loses nothing that it has acknowledged. */
export async function redisSystem(): Promise<System> {
  const redis = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  const proxies = [await TcpProxy.start(redis.port), await TcpProxy.start(redis.port)];
  return servicesOn({
    envs: proxies.map(({ port }) => ({ REDIS_URL: `redis://127.0.0.1:${port}`, REDIS_TIMEOUT_MS: '1000' })),
    faults: [storeKill(redis), storePause(() => redis, 1_800), storeCut(() => redis), ...linkFaults(proxies)],
    async release() {
      for (const proxy of proxies) await proxy.stop();
      await redis.stop();
    },
  });
}

interface Parts {
  /** Each service's settings. */
  readonly envs: readonly Readonly<Record<string, string>>[];
  /** Faults in the store. */
  readonly faults: readonly FaultSource[];
  /** Heals the store after the last fault. */
  readonly heal?: () => Promise<void>;
  readonly release: () => Promise<void>;
}

/** Starts services on an existing store, and adds their faults to the store's faults. */
export async function servicesOn({ envs, faults, heal, release }: Parts): Promise<System> {
  const failures: string[] = [];
  const instances: ServiceInstance[] = [];
  const stop = async () => {
    await Promise.all(instances.map((instance) => instance.stop()));
    await release();
  };
  try {
    for (const env of envs) instances.push(await ServiceInstance.start(env, failures));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    instances,
    faults: [...serviceFaults(instances), ...faults],
    failures,
    async settle() {
      await heal?.();
      await Promise.all(instances.map((instance) => instance.restart()));
    },
    stop,
  };
}

function serviceFaults(instances: readonly ServiceInstance[]): FaultSource[] {
  return [
    {
      kind: 'kill',
      group: 'processes',
      async strike(random, answers) {
        await answers.next(NEXT_ANSWER_MS);
        await random.pick(instances).restart();
        return undefined;
      },
    },
    {
      kind: 'pause',
      group: 'processes',
      async strike(random) {
        await random.pick(instances).pause(between(random, 100, 2_000));
        return undefined;
      },
    },
  ];
}
