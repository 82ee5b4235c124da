import { CASES, noRounds, runRound, type Rounds } from './batch-rounds.js';
import { FilterClient } from './filter-client.js';
import type { GuardGroup } from './guard-run.js';
import type { Ratios } from './guard-limits.js';
import { hashGroup, urlGroup } from './in-process-rows.js';
import type { Measured, Workers } from './measured.js';
import { SAMPLE } from './options.js';
import { RedisInstance, redisVersion } from './redis-instance.js';
import { assertSetUp, type BenchOptions, type CpuPerItem, type Group } from './row.js';
import { referenceRound, SET_COMMAND } from './sadd-reference.js';
import { withService, type Service } from './service.js';
import { median } from './statistics.js';
import { warmUp } from './warm-up.js';
import { jsonBodies } from './workload.js';
import { fingerprintPass, microsPerItem, parsePass, type Yardstick } from './yardstick.js';

const ROUNDS = 5;
const EMBEDDED_ITEMS = 200_000;
const REDIS_ITEMS = 60_000;
const STREAMED_ITEMS = 500_000;
/** Small enough for the processor's caches, so that other processes' use of them does not decide the result. */
const CAPACITY = 1_000_000;
const ERROR_RATE = 1e-2;
const OPTIONS: BenchOptions = {
  quick: true,
  seconds: 0.1,
  warmUpSeconds: 3,
  file: SAMPLE,
  profileDir: undefined,
};

/**
 * Every ratio is a median over rounds of a row's CPU against that of its yardstick, which is measured just before it.
 */
export function guardGroups(): GuardGroup[] {
  const fingerprints = fingerprintPass();
  return [
    inProcess('hash/positions against SHA-1', hashGroup, 'hash/positions-1e-2', fingerprints),
    inProcess('url/canonicalise against new URL', urlGroup, 'url/canonicalise-safe', parsePass(SAMPLE)),
    embedded(fingerprints),
    redis,
  ];
}

function inProcess(ratio: string, group: Group, row: string, yardstick: Yardstick): GuardGroup {
  return {
    name: ratio,
    rows: [ratio],
    async measure() {
      yardstick();
      const ratios: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const unit = microsPerItem(yardstick);
        const micros = (await group.measure(OPTIONS)).find(({ name }) => name === row)?.cpu?.service;
        assertSetUp(micros !== undefined, `the bench has a row ${row} with CPU`);
        ratios.push(micros / unit);
      }
      return { [ratio]: median(ratios) };
    },
  };
}

const embedded = (yardstick: Yardstick): GuardGroup => {
  const rowOf = (name: string) => `embedded/${name} against SHA-1`;
  return {
    name: 'embedded',
    rows: CASES.map(rowOf),
    measure: () =>
      withService({}, async (service) => {
        const units: number[] = [];
        const rounds = await filterRounds(service, EMBEDDED_ITEMS, { servicePid: service.pid }, async () => {
          units.push(microsPerItem(yardstick));
        });
        return caseRatios(rounds, 'service', rowOf, (_, round) => units[round] ?? NaN);
      }),
  };
};

const redisRow = (name: keyof Rounds) => `redis-1e-2/${name} against ${SET_COMMAND[name]}`;

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
        filterRounds(service, REDIS_ITEMS, workers, () => referenceRound(server, REDIS_ITEMS, units)),
      );
      return caseRatios(rounds, 'server', redisRow, (name, round) => perItem(units[name][round], 'server'));
    } finally {
      await server.stop();
    }
  },
};

/** Measures rounds of all cases of a filter's work, each after a round of the yardstick. */
async function filterRounds(
  service: Service,
  items: number,
  workers: Workers,
  yardstick: () => Promise<void>,
): Promise<Rounds> {
  const filter = new FilterClient(service.port, 'guard', 4);
  await filter.create(CAPACITY, ERROR_RATE);
  // Streams slow down the rows measured after them.
  await filter.fill(0, STREAMED_ITEMS);
  await filter.clear();
  const bodies = jsonBodies(0, items);
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

function caseRatios(
  rounds: Rounds,
  part: keyof CpuPerItem,
  rowOf: (name: keyof Rounds) => string,
  unit: (name: keyof Rounds, round: number) => number,
): Ratios {
  const ratio = (name: keyof Rounds) =>
    median(rounds[name].map((one, round) => perItem(one, part) / unit(name, round)));
  return Object.fromEntries(CASES.map((name) => [rowOf(name), ratio(name)]));
}

function perItem(measured: Measured | undefined, part: keyof CpuPerItem): number {
  return measured === undefined ? NaN : (measured.cpu[part] ?? NaN) / measured.items;
}
