import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { Filter } from '#store';
import { RedisStore } from '#store/redis';
import { check, discover, filterSpec, inBatches, items, keyed, made, remove } from '../contract/calls.js';
import { startCluster, type RedisCluster } from '../support/redis-cluster.js';
import { cliProgram } from '../support/redis-cli.js';
import { withClient } from '../support/redis-failover.js';
import type { RedisServer } from '../support/redis-server.js';
import { cellsPattern, TIMEOUT_MS } from '../support/stores.js';
import { until } from '../support/until.js';

const MASTERS = 3;
const MORE = 3;
const CAPACITY = 150_000;
/** Far below capacity, false positives are too rare to meet. */
const ERROR_RATE = 1e-9;
const FILL = 20_000;
const WORKERS = 3;
const BATCH = 100;
const LEASED = 40;
/** A worker keeps one in this many URLs, and none after KEEPING_ROUNDS, so that the set stays far from full. */
const KEPT_OF = 10;
const KEEPING_ROUNDS = 300;
const LEASE_MS = 3_600_000;

let cluster: RedisCluster;
let store: RedisStore;
let masters: readonly RedisServer[];

beforeAll(async () => {
  cluster = await startCluster({ masters: MASTERS });
  masters = cluster.servers;
  store = await RedisStore.open({ clusterNodes: cluster.nodes, timeoutMs: 5 * TIMEOUT_MS });
});
afterAll(async () => {
  await store.close();
  await cluster.stop();
});

it('a cluster grows from three masters to six under traffic: shares stay even, and no URL is lost', async () => {
  const filter = await create('grows');
  const filled = items(FILL, 'filled');
  expect(await discover(store, filter, filled)).toEqual(filled.map(() => 1));
  expectEven(await bytesOn(masters, filter));

  masters = [...masters, ...(await cluster.addMasters(MORE))];
  const crawl = new Crawl(filter);
  await crawl.during(rebalance);
  expect(masters).toHaveLength(MASTERS + MORE);
  expectEven(await bytesOn(masters, filter));

  const seen = [...filled, ...crawl.discovered];
  const kept = seen.filter((url) => !crawl.forgotten.has(url));
  expect(await inBatches(check, store, filter, kept)).toEqual(kept.map(() => 1));
  const gone = [...crawl.forgotten];
  expect(await inBatches(check, store, filter, gone)).toEqual(gone.map(() => 0));

  await crawl.drain();
  const handedOut = new Set(crawl.acked);
  expect(handedOut.size).toBe(crawl.acked.length);
  expect(kept.filter((url) => !handedOut.has(url))).toEqual([]);
});

it('a set that is created afterwards is spread over six masters', async () => {
  await until('the store knows all masters', () => Promise.resolve(store.runs === masters.length));
  expectEven(await bytesOn(masters, await create('new')));
});

async function create(name: string): Promise<Filter> {
  const spec = filterSpec({
    ...{ name, kind: 'visited-set', capacity: CAPACITY, errorRate: ERROR_RATE },
    segmentation: store.segmentation,
  });
  return (await store.create(spec, made())).filter;
}

/** How many bytes of the filter's cells each master has. */
function bytesOn(servers: readonly RedisServer[], filter: Filter): Promise<number[]> {
  const own = async (client: Redis): Promise<number> => {
    const keys = await client.keys(cellsPattern(filter, '*'));
    const sizes = await Promise.all(keys.map((key) => client.strlen(key)));
    return sizes.reduce((sum, size) => sum + size, 0);
  };
  return Promise.all(servers.map((server) => withClient(server, own)));
}

/** Expects each share to be within 10 % of the mean. */
function expectEven(shares: readonly number[]): void {
  const fair = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  expect(Math.min(...shares)).toBeGreaterThanOrEqual(0.9 * fair);
  expect(Math.max(...shares)).toBeLessThanOrEqual(1.1 * fair);
}

/** Workers that discover, forget, lease and acknowledge URLs. Every call must succeed. */
class Crawl {
  readonly discovered: string[] = [];
  readonly forgotten = new Set<string>();
  readonly acked: string[] = [];

  constructor(private readonly filter: Filter) {}

  /** Lets the workers run until `act` ends, and for one round at least. */
  async during(act: () => Promise<void>): Promise<void> {
    let running = true;
    const workers = Array.from({ length: WORKERS }, async (_, worker) => {
      for (let round = 0; round === 0 || running; round++) await this.round(worker, round);
    });
    const outcomes = Promise.all(workers);
    try {
      await Promise.race([act(), outcomes]);
    } finally {
      running = false;
    }
    await outcomes;
  }

  /** Leases and acknowledges everything that is queued. */
  async drain(): Promise<void> {
    while ((await this.work(1_000)) > 0);
  }

  private async round(worker: number, round: number): Promise<void> {
    const { filter } = this;
    const urls = items(BATCH, `worker ${worker} round ${round}`);
    const operation = keyed();
    expect(await discover(store, filter, urls, operation)).toEqual(urls.map(() => 1));
    // A retry changes nothing.
    expect(await discover(store, filter, urls, operation)).toEqual(urls.map(() => 1));
    this.discovered.push(...urls);
    const forgotten = urls.filter((_, i) => i % KEPT_OF > 0 || round >= KEEPING_ROUNDS);
    expect(await remove(store, filter, forgotten)).toEqual(forgotten.map(() => 1));
    for (const url of forgotten) this.forgotten.add(url);
    await this.work(LEASED);
  }

  private async work(max: number): Promise<number> {
    const { filter } = this;
    const leased = await store.queue.lease(filter, max, LEASE_MS, made());
    const ids = leased.map(({ id }) => id);
    const answers = ids.length > 0 ? await store.queue.ack(filter, ids, made()) : [];
    // A URL that another worker forgets while it is leased can't be acknowledged.
    this.acked.push(...leased.filter((_, i) => answers[i] === 1).map(({ payload }) => payload));
    return leased.length;
  }
}

/** Moves slots until every master has its share of them. */
async function rebalance(): Promise<void> {
  const args = ['--cluster', 'rebalance', cluster.nodes[0] as string, '--cluster-use-empty-masters'];
  await promisify(execFile)(cliProgram(), args, { maxBuffer: 2 ** 24 });
}
