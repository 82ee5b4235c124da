import { apart } from './cores.js';
import { FilterClient, type Verb } from './filter-client.js';
import { LoadClient, rawPost, type Load, type Outcome } from './load-client.js';
import { RedisInstance, redisVersion } from './redis-instance.js';
import { assertSetUp, atLeast, atMost, type BenchOptions, type Group, type Row } from './row.js';
import { Service } from './service.js';
import { median, quantile } from './statistics.js';
import { warmUp } from './warm-up.js';
import { jsonBody } from './workload.js';

/** The calls that clients make on one filter over and over. */
interface Workload {
  readonly name: string;
  readonly verb: Verb;
  readonly batch: number;
  readonly requests: number;
}

const WORKLOADS: readonly Workload[] = [
  { name: 'add-1000', verb: 'add', batch: 1_000, requests: 1_000 },
  { name: 'add-1', verb: 'add', batch: 1, requests: 20_000 },
];

const CONNECTIONS = 256;
/** Slightly below the number of requests that the service accepts at a time. */
const BEST_WIDTH = 48;
/** Best load and overload alternate, because the machine's speed varies. */
const ROUNDS = 3;
const OVERLOAD = 2;
const BEST_SHARE = 80;
const REFUSAL_MS = 20;

/** Offers twice the load that the service can carry, without waiting for responses. */
export const overloadGroup: Group = {
  name: 'overload',
  async measure(options) {
    const rows = await storeRows('embedded', options, {});
    if (redisVersion() === undefined) {
      console.error('  Redis is skipped: redis-server is missing; run npm run redis:ensure');
      return rows;
    }
    const redis = await RedisInstance.start();
    try {
      return [...rows, ...(await storeRows('redis', options, { REDIS_URL: redis.url }, [redis.pid]))];
    } finally {
      await redis.stop();
    }
  },
};

async function storeRows(
  store: string,
  options: BenchOptions,
  env: Readonly<Record<string, string>>,
  servers: readonly number[] = [],
): Promise<Row[]> {
  const service = await Service.start({ env, profileDir: options.profileDir });
  try {
    return await apart([service.pid, ...servers], async () => {
      const rows: Row[] = [];
      for (const workload of options.quick ? WORKLOADS.slice(0, 1) : WORKLOADS) {
        rows.push(await row(store, service.port, workload, options));
      }
      return rows;
    });
  } finally {
    await service.stop();
  }
}

async function row(store: string, port: number, workload: Workload, options: BenchOptions): Promise<Row> {
  const { name, verb, batch, requests } = workload;
  const filter = new FilterClient(port, `overload-${name}`, 1);
  await filter.create(10_000_000, 1e-2);
  filter.close();
  const path = `/v1/filters/${filter.name}/items/${verb}`;
  const posts = Array.from({ length: requests }, (_, i) => rawPost(path, jsonBody(i * batch, batch)));
  const client = await LoadClient.open(port, CONNECTIONS, posts);
  const seconds = options.seconds / 2;
  const rounds: Round[] = [];
  try {
    // The warm-up includes refusals.
    await warmUp(options, async () => {
      const best = acceptedRate(await client.closedLoop(BEST_WIDTH, seconds));
      await client.openLoop(OVERLOAD * best, seconds);
    });
    for (let i = 0; i < (options.quick ? 1 : ROUNDS); i++) {
      const best = acceptedRate(await client.closedLoop(BEST_WIDTH, seconds));
      rounds.push({ best, over: await client.openLoop(OVERLOAD * best, seconds) });
    }
  } finally {
    client.close();
  }
  return { name: `overload/${store}-${name}`, ...figuresOf(rounds, batch) };
}

interface Round {
  /** Requests per second when as many are in flight as the service accepts. */
  readonly best: number;
  readonly over: Load;
}

function figuresOf(rounds: readonly Round[], batch: number): Omit<Row, 'name'> {
  const outcomes = rounds.flatMap(({ over }) => over.outcomes);
  const others = outcomes.filter((outcome) => !isAccepted(outcome) && !isRefused(outcome));
  assertSetUp(others.length === 0, `answers are 200 or 503, not ${others[0]?.status}`);
  const accepted = outcomes.filter(isAccepted).map(({ ms }) => ms);
  const refused = outcomes.filter(isRefused).map(({ ms }) => ms);
  const seconds = rounds.reduce((sum, { over }) => sum + over.seconds, 0);
  const share = 100 * median(rounds.map(({ best, over }) => acceptedRate(over) / best));
  // Nothing was refused, so no refusal was slow.
  const p99Refusal = refused.length === 0 ? 0 : quantile(refused, 0.99);
  return {
    itemsPerSecond: (accepted.length / seconds) * batch,
    figures: [
      { name: 'best', value: median(rounds.map(({ best }) => best)), unit: 'requests/s' },
      { name: 'accepted p50', value: median(accepted), unit: 'ms' },
      { name: 'accepted p99', value: quantile(accepted, 0.99), unit: 'ms' },
      { name: 'refused', value: refused.length / seconds, unit: 'requests/s' },
      { name: 'refused p50', value: median(refused), unit: 'ms' },
      { name: 'refused p99', value: p99Refusal, unit: 'ms' },
      { name: 'unsent', value: rounds.reduce((sum, { over }) => sum + over.unsent, 0) / seconds, unit: '/s' },
    ],
    targets: [
      atLeast('throughput at twice the load, relative to the best', share, BEST_SHARE, '%'),
      atMost('p99 of refusals', p99Refusal, REFUSAL_MS, 'ms'),
    ],
  };
}

const isAccepted = ({ status }: Outcome) => status === 200;
const isRefused = ({ status }: Outcome) => status === 503;
const acceptedRate = ({ outcomes, seconds }: Load) => outcomes.filter(isAccepted).length / seconds;
