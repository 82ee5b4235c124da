import { rm } from 'node:fs/promises';
import { BareServer } from './bare-server.js';
import { CASES, noRounds, runRound, type Case, type Rounds } from './batch-rounds.js';
import { FilterClient } from './filter-client.js';
import type { GuardGroup } from './guard-run.js';
import { caseCosts, OPTIONS, ROUNDS } from './guard-costs.js';
import { queueGroups } from './guard-queue.js';
import { shapeGroups } from './guard-shapes.js';
import { hashGroup, urlGroup } from './in-process-rows.js';
import { measured, type Measured, type Workers } from './measured.js';
import { SAMPLE } from './options.js';
import { RedisInstance, redisVersion } from './redis-instance.js';
import { assertSetUp, type Group } from './row.js';
import { referenceRound, SET_COMMAND } from './sadd-reference.js';
import { makeDataDir, withService, type Service } from './service.js';
import { warmUp } from './warm-up.js';
import { jsonBodies } from './workload.js';
import { microsPerItem, murmurPass, parsePass, type Yardstick } from './yardstick.js';

/** Requests in flight. */
const WIDTH = 4;
const EMBEDDED_ITEMS = 200_000;
const REDIS_ITEMS = 60_000;
const STREAMED_ITEMS = 500_000;
/** Small enough for the processor's caches, so other processes' use of the caches doesn't decide the result. */
const CAPACITY = 1_000_000;
const ERROR_RATE = 1e-2;

/**
 * Every yardstick does the same kind of work as its row, and alternates with it. So slow memory or slow system calls
 * slow both.
 */
export function guardGroups(): GuardGroup[] {
  return [
    inProcess('hash/positions against murmurhash3js', hashGroup, 'hash/positions-1e-2', murmurPass()),
    inProcess('url/canonicalise against new URL', urlGroup, 'url/canonicalise-safe', parsePass(SAMPLE)),
    embedded,
    redis,
    ...shapeGroups(),
    ...queueGroups(),
  ];
}

function inProcess(name: string, group: Group, row: string, yardstick: Yardstick): GuardGroup {
  return {
    name,
    rows: [name],
    async measure() {
      yardstick();
      const rows: number[] = [];
      const units: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        units.push(microsPerItem(yardstick));
        const micros = (await group.measure(OPTIONS)).find((measured) => measured.name === row)?.cpu?.service;
        assertSetUp(micros !== undefined, `the bench has a row ${row} with CPU`);
        rows.push(micros);
      }
      return { [name]: { row: Math.min(...rows), yardstick: Math.min(...units) } };
    },
  };
}

const embeddedRow = (name: Case) =>
  `embedded/${name} against node:http${name === 'check' ? '' : ' and a write'}`;

/**
 * Compares with Node's own server, which reads the same bodies and answers each item. For changes, it also stores
 * something in LMDB, because processors and kernels differ in what that costs relative to HTTP.
 */
const embedded: GuardGroup = {
  name: 'embedded',
  rows: CASES.map(embeddedRow),
  async measure() {
    const folder = await makeDataDir();
    const servers: BareServer[] = [];
    const clients: FilterClient[] = [];
    const bodies = jsonBodies(0, EMBEDDED_ITEMS);
    const bare = async (directory?: string) => {
      const server = await BareServer.start('http', { path: '/', headers: {} }, directory);
      const client = new FilterClient(server.port, 'bare', WIDTH);
      servers.push(server);
      clients.push(client);
      const units: Measured[] = [];
      const round = () =>
        measured({ servicePid: server.pid }, EMBEDDED_ITEMS, () => client.batches('check', bodies));
      await warmUp(OPTIONS, round);
      return { units, again: async () => void units.push(await round()) };
    };
    try {
      const [reads, writes] = [await bare(), await bare(folder)];
      const rounds = await withService({}, (service) =>
        filterRounds(service, bodies, { servicePid: service.pid }, async () => {
          await reads.again();
          await writes.again();
        }),
      );
      const unitsOf = (name: Case) => (name === 'check' ? reads : writes).units;
      return caseCosts('service', embeddedRow, rounds, unitsOf);
    } finally {
      for (const client of clients) client.close();
      await Promise.all(servers.map((server) => server.stop()));
      await rm(folder, { recursive: true, force: true });
    }
  },
};

const redisRow = (name: Case) => `redis-1e-2/${name} against ${SET_COMMAND[name]}`;

const redis: GuardGroup = {
  name: 'redis',
  rows: CASES.map(redisRow),
  unavailable: () => (redisVersion() === undefined ? 'there is no redis-server here' : undefined),
  async measure() {
    const server = await RedisInstance.start();
    try {
      const workers = { serverMicros: () => server.cpuMicros() };
      const units = noRounds();
      const rounds = await withService({ env: { REDIS_URL: server.url } }, (service) =>
        filterRounds(service, jsonBodies(0, REDIS_ITEMS), workers, () =>
          referenceRound(server, REDIS_ITEMS, units),
        ),
      );
      return caseCosts('server', redisRow, rounds, (name) => units[name]);
    } finally {
      await server.stop();
    }
  },
};

/** Measures all cases of work on a filter in rounds, each after a round of the yardstick. */
async function filterRounds(
  service: Service,
  bodies: readonly Buffer[],
  workers: Workers,
  yardstick: () => Promise<void>,
): Promise<Rounds> {
  const filter = new FilterClient(service.port, 'guard', WIDTH);
  await filter.create(CAPACITY, ERROR_RATE);
  // Streams slow down the rows measured after them.
  await filter.fill(0, STREAMED_ITEMS);
  await filter.clear();
  const rounds = noRounds();
  await warmUp(OPTIONS, () => runRound(filter, bodies, workers, noRounds()));
  for (let round = 0; round < ROUNDS; round++) {
    await filter.clear();
    await yardstick();
    await runRound(filter, bodies, workers, rounds);
  }
  filter.close();
  return rounds;
}
