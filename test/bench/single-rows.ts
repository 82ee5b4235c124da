import { FilterClient, type Verb } from './filter-client.js';
import { LoadClient, rawPost } from './load-client.js';
import { measured, summary } from './measured.js';
import { RedisInstance, redisVersion } from './redis-instance.js';
import { assertSetUp, atMost, type BenchOptions, type Group, type Row } from './row.js';
import { withService, type Service } from './service.js';
import { latencyOf } from './statistics.js';
import { warmUp } from './warm-up.js';
import { jsonBody } from './workload.js';

const CAPACITY = 10_000_000;
const ERROR_RATE = 1e-2;
const CALLS = 5_000;

/** One item per call: one call at a time for latency, eight for throughput, and half of the possible load. */
export const singleGroup: Group = {
  name: 'embedded-single',
  measure: (options) =>
    withService({ profileDir: options.profileDir }, async (service) => {
      // Run these first: they warm up the service for the other rows.
      const halfLoad = [
        await halfLoadRow('embedded', service, options, 'add'),
        await halfLoadRow('embedded', service, options, 'check'),
      ];
      const rows: Row[] = [];
      for (const width of [1, 8]) {
        const filter = new FilterClient(service.port, `singles-${width}`, width);
        await filter.create(CAPACITY, ERROR_RATE);
        for (const verb of ['add', 'check'] as const)
          rows.push(await singleRow(service, options, filter, verb));
        filter.close();
      }
      return [...rows, ...halfLoad];
    }),
};

/** The Redis store with one item per call, at half of the possible load. */
export const redisSingleGroup: Group = {
  name: 'redis-single',
  async measure(options) {
    if (redisVersion() === undefined) {
      console.error('  skipped: redis-server is missing; run npm run redis:ensure');
      return [];
    }
    const redis = await RedisInstance.start();
    try {
      return await withService({ env: { REDIS_URL: redis.url } }, async (service) => [
        await halfLoadRow('redis', service, options, 'add'),
        await halfLoadRow('redis', service, options, 'check'),
      ]);
    } finally {
      await redis.stop();
    }
  },
};

async function singleRow(
  service: Service,
  options: BenchOptions,
  filter: FilterClient,
  verb: Verb,
): Promise<Row> {
  const count = options.quick ? CALLS / 10 : CALLS;
  const bodies = Array.from({ length: count }, (_, i) => jsonBody(i, 1));
  const answer = '{"results":[true]}';
  let times: number[] = [];
  const round = await measured({ servicePid: service.pid }, count, async () => {
    times = await filter.singles(verb, bodies, answer);
  });
  return {
    name: `embedded/single-${verb}-${filter.width}-in-flight`,
    ...summary([round]),
    latency: latencyOf(times),
  };
}

const CONNECTIONS = 64;
const REQUESTS = 20_000;
const P99_MS = 5;
const HALF_LOAD_ROUNDS = 3;

/**
 * Alternates between two loads: as many calls as the service can take, and half as many per second, sent without
 * waiting for responses.
 */
async function halfLoadRow(store: string, service: Service, options: BenchOptions, verb: Verb): Promise<Row> {
  const { quick, seconds } = options;
  const filter = new FilterClient(service.port, `half-load-${verb}`, 1);
  await filter.create(CAPACITY, ERROR_RATE);
  filter.close();
  const path = `/v1/filters/${filter.name}/items/${verb}`;
  const posts = Array.from({ length: REQUESTS }, (_, i) => rawPost(path, jsonBody(i, 1)));
  const client = await LoadClient.open(service.port, CONNECTIONS, posts);
  const each = seconds / HALF_LOAD_ROUNDS;
  const rounds = quick ? 1 : HALF_LOAD_ROUNDS;
  const times: number[] = [];
  let unsent = 0;
  try {
    await warmUp(options, () => client.closedLoop(CONNECTIONS / 2, each));
    for (let round = 0; round < rounds; round++) {
      const best = await client.closedLoop(CONNECTIONS / 2, each);
      const half = await client.openLoop(best.outcomes.length / best.seconds / 2, each);
      const failed = [...best.outcomes, ...half.outcomes].find(({ status }) => status !== 200);
      assertSetUp(failed === undefined, `every call is answered 200, not ${failed?.status}`);
      unsent += half.unsent;
      times.push(...half.outcomes.map(({ ms }) => ms));
    }
  } finally {
    client.close();
  }
  const latency = latencyOf(times);
  return {
    name: `${store}/single-${verb}-half-load`,
    itemsPerSecond: times.length / (rounds * each),
    latency,
    // Calls that were due while every connection was waiting. They would have been the slowest, but the latencies leave
    // them out.
    figures: [{ name: 'unsent', value: unsent / (rounds * each), unit: '/s' }],
    targets: [atMost('p99 of one call', latency.p99, P99_MS, 'ms')],
  };
}
