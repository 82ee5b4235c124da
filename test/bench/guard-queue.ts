import { OPTIONS, ROUNDS } from './guard-costs.js';
import type { Costs } from './guard-limits.js';
import type { GuardGroup } from './guard-run.js';
import { onEachStore, type Place } from './guard-stores.js';
import { measured, type Measured, type Workers } from './measured.js';
import { QueueClient } from './queue-client.js';
import { assertSetUp } from './row.js';
import { warmUp } from './warm-up.js';
import { BATCH, hostLines } from './workload.js';

/** URLs per round, and hosts per batch. */
const URLS = 12_000;
const HOSTS_PER_BATCH = 30;
const WARM_ROUNDS = 3;
const ERROR_RATE = 1e-3;

/**
 * The calls in each round, with their yardsticks. Leases are compared with `discover`, which also writes the queue's
 * tables. Their ratio to a visit, which mostly hashes, differs by 40 % between runs of the same build.
 */
const YARDSTICKS = {
  discover: 'visit',
  'lease and ack': 'discover',
  'hosts/discover': 'visit',
  'hosts/lease and ack': 'hosts/discover',
} as const;
type Call = keyof typeof YARDSTICKS;
const CALLS = Object.keys(YARDSTICKS) as Call[];
type Times = Record<Call | 'visit', Measured[]>;

type Sets = Readonly<Record<'visited' | 'plain' | 'hosts', QueueClient>>;

/** The queue, with and without `perHost`. */
export const queueGroups = (): GuardGroup[] => onEachStore('queue', rowsOf, measureQueue);

const rowOf = (store: string, call: Call) => `${store}/${call} against ${YARDSTICKS[call]}`;

const rowsOf = (store: string): string[] => CALLS.map((call) => rowOf(store, call));

function costsOf({ part, store }: Place, times: Times): Costs {
  const leastOf = (all: readonly Measured[]) =>
    Math.min(...all.map(({ cpu, items }) => (cpu[part] ?? NaN) / items));
  return Object.fromEntries(
    CALLS.map((call) => [
      rowOf(store, call),
      { row: leastOf(times[call]), yardstick: leastOf(times[YARDSTICKS[call]]) },
    ]),
  );
}

async function measureQueue(place: Place): Promise<Costs> {
  const { port, workers } = place;
  const warm = await setsOf(port, 'warm');
  await warmUp(
    OPTIONS,
    async () => {
      for (const set of Object.values(warm)) await set.clear();
      await round(warm, 0, workers, noTimes());
    },
    WARM_ROUNDS,
  );
  const sets = await setsOf(port, 'guard');
  const times = noTimes();
  // Each round has different URLs. Otherwise, the store would still be purging cleared queues during the next row.
  for (let number = 0; number < ROUNDS; number++) await round(sets, number, workers, times);
  for (const set of [...Object.values(warm), ...Object.values(sets)]) set.close();
  return costsOf(place, times);
}

const noTimes = (): Times => ({
  ...{ visit: [], discover: [], 'lease and ack': [], 'hosts/discover': [], 'hosts/lease and ack': [] },
});

async function setsOf(port: number, name: string): Promise<Sets> {
  const make = async (of: string, more?: object): Promise<QueueClient> => {
    const set = new QueueClient(port, `${name}-${of}`, 1);
    await set.create(ROUNDS * URLS, ERROR_RATE, more);
    return set;
  };
  return {
    visited: await make('visited'),
    plain: await make('plain'),
    hosts: await make('hosts', { perHost: {} }),
  };
}

async function round(
  { visited, plain, hosts }: Sets,
  number: number,
  workers: Workers,
  times: Times,
): Promise<void> {
  const time = async (call: keyof Times, work: () => Promise<unknown>): Promise<void> => {
    times[call].push(await measured(workers, URLS, work));
  };
  const lines = hostLines(
    number * URLS,
    URLS,
    (i) => HOSTS_PER_BATCH * Math.floor(i / BATCH) + (i % HOSTS_PER_BATCH),
  );
  await time('visit', () => visited.stream('visit', lines));
  for (const [set, of] of [
    [plain, ''],
    [hosts, 'hosts/'],
  ] as const) {
    await time(`${of}discover`, () => set.stream('discover', lines));
    await time(`${of}lease and ack`, async () => {
      const done = await set.drain(BATCH, 1);
      assertSetUp(done > 0.98 * URLS, `${done} of ${URLS} URLs are leased`);
    });
  }
}
