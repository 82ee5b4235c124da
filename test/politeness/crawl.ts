import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UnseenClient } from '#client';
import { ServiceInstance } from '../history/service-instance.js';
import { freshName } from '../support/app.js';
import { freePort, startRedis } from '../support/redis-server.js';
import type { Kill, Request } from './judge.js';
import { ManyHosts } from './many-hosts.js';
import { startWorkers, type Team } from './workers.js';

const HOSTS = 50;
const PAGES_OF_HOST = 10;

/** Services on one store, and their parts that can be killed. */
export interface System {
  readonly services: readonly ServiceInstance[];
  /** Failures other than wrong answers. */
  readonly failures: readonly string[];
  /** Kills a part of it and starts it again. Each call kills a different part. */
  killNext(): Promise<void>;
  stop(): Promise<void>;
}

/** One service on the embedded store. */
export async function embeddedSystem(): Promise<System> {
  const dataDir = await mkdtemp(join(tmpdir(), 'unseen-crawl-'));
  const remove = () => rm(dataDir, { recursive: true, force: true });
  return systemOf([{ DATA_DIR: dataDir }], [], remove);
}

/** Two services on one Redis, which loses nothing that it has acknowledged. */
export async function redisSystem(): Promise<System> {
  const redis = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  const env = { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '1000' };
  const killRedis = async () => {
    await redis.kill('SIGKILL');
    await redis.restart();
  };
  return systemOf([env, env], [killRedis], () => redis.stop());
}

async function systemOf(
  envs: readonly Readonly<Record<string, string>>[],
  killStore: readonly (() => Promise<void>)[],
  release: () => Promise<void>,
): Promise<System> {
  const failures: string[] = [];
  const services: ServiceInstance[] = [];
  const stop = async () => {
    for (const service of services) await service.stop();
    await release();
  };
  try {
    for (const env of envs) {
      // All processes of an instance have the same port, because workers know only one URL.
      const port = String(await freePort());
      services.push(await ServiceInstance.start({ ...env, PORT: port }, failures));
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const parts = [...services.map((service) => () => service.restart()), ...killStore];
  let kills = 0;
  return { services, failures, killNext: async () => parts[kills++ % parts.length]?.(), stop };
}

export interface CrawlOptions {
  readonly team: Team;
  readonly perHost?: { readonly delaySeconds: number; readonly maxLeased: number };
  /** The numbers of served pages at which something is killed. */
  readonly killsAt: readonly number[];
}

export interface Crawl {
  readonly log: readonly Request[];
  /** All pages of the site, as the host and the path. */
  readonly pages: readonly string[];
  readonly kills: readonly Kill[];
  /** The queue's URLs at the end, by their state. */
  readonly left: { readonly waiting: number; readonly leased: number; readonly delayed: number };
}

/** Crawls a site with 50 hosts until the set's queue is empty. */
export async function crawl(system: System, { team, perHost, killsAt }: CrawlOptions): Promise<Crawl> {
  const [url = '', ...others] = system.services.map((service) => service.url);
  const set = new UnseenClient({ url }).visitedSet(freshName('polite'));
  await set.create({ capacity: 10_000, ...(perHost && { perHost }) });
  const kinds = Object.entries(team).flatMap(([kind, count]) => (count > 0 ? [kind] : []));
  const site = await ManyHosts.start(HOSTS, PAGES_OF_HOST, kinds);
  const kills: Kill[] = [];
  let killing = Promise.resolve();
  const killOne = async () => {
    const fromMs = Date.now();
    await system.killNext();
    kills.push({ fromMs, untilMs: Date.now() });
  };
  const killAll = async () => {
    for (const served of killsAt) {
      await site.untilServed(served);
      await (killing = killOne());
    }
  };
  await set.discover(site.starts());
  const workers = startWorkers(team, [url, ...others], { set: set.name, starts: site.starts() });
  try {
    await Promise.all([killAll(), ...workers.map(({ ended }) => ended)]);
    const description = await set.describe();
    if (!('queue' in description)) throw new Error('the set has lost data');
    const { waiting, leased, delayed } = description.queue;
    return { log: site.log, pages: site.pages(), kills, left: { waiting, leased, delayed } };
  } finally {
    await site.stop();
    // Stopping has to wait for a part that is just being started again.
    await Promise.allSettled([killing, ...workers.map((worker) => worker.stop())]);
  }
}
