import { LANES_PER_SCRIPT } from '../../libs/store/src/redis/scripts/host-lanes.js';
import { onBothStores } from './both-stores.js';
import { measured, summary, type Measured, type Workers } from './measured.js';
import { QueueClient } from './queue-client.js';
import type { RedisInstance } from './redis-instance.js';
import { assertSetUp, atMost, totalCpu, type BenchOptions, type Group, type Row } from './row.js';
import { withService } from './service.js';
import { warmUp } from './warm-up.js';
import { BATCH, hostLines } from './workload.js';

const URLS = 300_000;
const QUICK_URLS = 30_000;
const ROUNDS = 5;
const WARM_ROUNDS = 3;
const ERROR_RATE = 1e-3;
const HOSTS_PER_BATCH = 30;
/** A lease takes one URL from each of this many hosts. */
const LEASED_HOSTS = 100;
const SCRIPT_CALLS = 50;
/** Longest time of a script, in µs. */
const MOST_SCRIPT_MICROS = 1_000;
/** CPU for a discovery relative to a visit. */
const MOST_AGAINST_VISIT = 2;
/** Redis' CPU for a leased URL, in µs. */
const MOST_LEASE_MICROS = 15;

/** Sets for visits, discoveries, discoveries without hosts, and leases. */
type Sets = readonly [QueueClient, QueueClient, QueueClient, QueueClient];

/** The cost of a per-host queue, compared with visits of the same URLs and with a queue without hosts. */
export const hostGroup: Group = {
  name: 'hosts',
  measure: (options) => onBothStores(options, rowsOf, scriptRows),
};

async function rowsOf(store: string, port: number, workers: Workers, options: BenchOptions): Promise<Row[]> {
  const count = options.quick ? QUICK_URLS : (options.size ?? URLS);
  const few = count / 10;
  const rounds = options.quick ? 1 : ROUNDS;
  const times: Record<string, Measured[]> = {};
  const time = async (row: string, items: number, work: () => Promise<unknown>): Promise<void> => {
    (times[row] ??= []).push(await measured(workers, items, work));
  };
  const setsOf = async (name: string): Promise<Sets> => {
    const set = (of: string): QueueClient => new QueueClient(port, `${name}-${of}`, 8);
    const sets: Sets = [set('visited'), set('discovered'), set('plain'), set('leased')];
    const [visited, discovered, plain, leased] = sets;
    for (const set of [visited, discovered, leased])
      await set.create(rounds * count, ERROR_RATE, { perHost: {} });
    await plain.create(rounds * count, ERROR_RATE);
    return sets;
  };
  /** Each round has different URLs. Otherwise, the store would still be purging cleared queues during the next row. */
  const round = async ([visited, discovered, plain, leased]: Sets, number: number): Promise<void> => {
    const lines = hostLines(
      number * count,
      count,
      (i) => HOSTS_PER_BATCH * Math.floor(i / BATCH) + (i % HOSTS_PER_BATCH),
    );
    await time('visit', count, () => visited.stream('visit', lines));
    await time('discover', count, () => discovered.stream('discover', lines));
    await time('discover-plain', count, () => plain.stream('discover', lines));
    await leased.stream(
      'discover',
      hostLines(number * few, few, (i) => i % LEASED_HOSTS),
    );
    const leases: string[][] = [];
    await time('lease-of-each', few, async () => {
      for (let n = 0; n < few / LEASED_HOSTS; n++)
        leases.push(await leased.lease(LEASED_HOSTS, { maxPerHost: 1 }));
    });
    const found = leases.flat().length;
    assertSetUp(found > 0.98 * few, `${found} of ${few} URLs are leased`);
    await time('ack-of-each', few, async () => {
      for (const ids of leases) await leased.ack(ids);
    });
  };
  const warm = await setsOf('warm');
  await warmUp(
    options,
    async () => {
      for (const set of warm) await set.clear();
      await round(warm, 0);
    },
    WARM_ROUNDS,
  );
  for (const set of warm) set.close();
  for (const row of Object.keys(times)) times[row] = [];
  const sets = await setsOf('hosts');
  for (let number = 0; number < rounds; number++) await round(sets, number);
  for (const set of sets) set.close();
  const of = (row: string): Row & ReturnType<typeof summary> => ({
    name: `${store}/hosts-${row}`,
    ...summary(times[row] ?? []),
  });
  const visit = of('visit');
  const against = (row: string): Row => {
    const found = of(row);
    const value = totalCpu(found.cpu) / totalCpu(visit.cpu);
    return { ...found, ratio: { value, against: visit.name } };
  };
  const discover = against('discover');
  const lease = of('lease-of-each');
  const { server } = lease.cpu;
  return [
    visit,
    {
      ...discover,
      targets: [atMost('CPU relative to visit', discover.ratio?.value ?? NaN, MOST_AGAINST_VISIT, 'x')],
    },
    against('discover-plain'),
    {
      ...lease,
      ...(server !== undefined && {
        targets: [atMost('CPU of Redis for a URL', server, MOST_LEASE_MICROS, 'µs')],
      }),
    },
    of('ack-of-each'),
  ];
}

/** Each call's longest script, on a set with as many hosts as a script works on. */
async function scriptRows(redis: RedisInstance): Promise<Row[]> {
  return withService({ env: { REDIS_URL: redis.url } }, async ({ port }) => {
    const set = new QueueClient(port, 'hosts-scripts', 1);
    await set.create(LANES_PER_SCRIPT * SCRIPT_CALLS, ERROR_RATE, { perHost: {} });
    await set.stream(
      'discover',
      hostLines(0, LANES_PER_SCRIPT * SCRIPT_CALLS, (i) => i % LANES_PER_SCRIPT),
    );
    await redis.client.config('SET', 'slowlog-log-slower-than', 0);
    const rows: Row[] = [];
    const longest = async (call: string, work: () => Promise<void>): Promise<void> => {
      await redis.resetScriptTimes();
      await work();
      const { calls, micros, worstMicros } = await redis.scriptTimes();
      assertSetUp(calls > 0 && worstMicros > 0, `${call} runs scripts`);
      rows.push({
        name: `redis/hosts-script-${call}`,
        figures: [
          { name: 'mean', value: micros / calls, unit: 'µs' },
          { name: 'worst', value: worstMicros, unit: 'µs' },
        ],
        targets: [atMost('longest script', worstMicros, MOST_SCRIPT_MICROS, 'µs')],
      });
    };
    const leases: string[][] = [];
    await longest('lease', async () => {
      for (let n = 0; n < SCRIPT_CALLS / 2; n++)
        leases.push(await set.lease(LANES_PER_SCRIPT, { maxPerHost: 1 }));
    });
    assertSetUp(
      leases.every(({ length }) => length > 0.9 * LANES_PER_SCRIPT),
      'a lease takes a URL of each host',
    );
    await longest('ack', async () => {
      for (const ids of leases) await set.ack(ids);
    });
    await longest('drop-host', async () => {
      for (let n = 0; n < LANES_PER_SCRIPT; n++)
        await set.dropHost(`www.news-${String(n).padStart(4, '0')}.example.org`);
    });
    set.close();
    return rows;
  });
}
