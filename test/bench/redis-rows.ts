import { CASES, noRounds, runRound, type Case, type Rounds } from './batch-rounds.js';
import { FilledFilter, sizeRows } from './filled-filter.js';
import { summary, type Workers } from './measured.js';
import { FingerprintSet } from './peers/fingerprint-set.js';
import { memoryRow, referenceMemoryRow, type SetMemory } from './redis-memory.js';
import { RedisInstance, redisVersion, type ScriptTimes } from './redis-instance.js';
import { atMost, type BenchOptions, type Group, type Row } from './row.js';
import { SET_COMMAND, setRound } from './sadd-reference.js';
import { withService, type Service } from './service.js';
import { BASE_SIZE, LARGE_SIZE, sizesOf } from './sizes.js';
import { warmUp } from './warm-up.js';
import { BATCH, jsonBodies } from './workload.js';

const ROUNDS = 3;
const ROUND_ITEMS = 100_000;
/** Redis is the bottleneck. Two requests keep it busy, and more would only wait. */
const REQUESTS_IN_FLIGHT = 2;
/** More requests, so that the service reaches its thousands of batches sooner. */
const WARM_UP_IN_FLIGHT = 8;
/** Limits on Redis' CPU per item relative to the reference's command, in the largest filter. */
const RATIO_TARGETS: Readonly<Record<Case, number>> = {
  'add-new': 1.8,
  'add-present': 1.1,
  check: 1.1,
  remove: 2,
};

/** The Redis store over HTTP and, in each round, a set of 10^7 SHA-1 fingerprints next to it. */
export const redisGroup: Group = {
  name: 'redis',
  async measure(options) {
    if (redisVersion() === undefined) {
      console.error('  skipped: redis-server is missing; run npm run redis:ensure');
      return [];
    }
    const redis = await RedisInstance.start();
    try {
      const env = { REDIS_URL: redis.url };
      return await withService({ env, profileDir: options.profileDir }, (service) =>
        new RedisBench(redis, service, options).rows(),
      );
    } finally {
      await redis.stop();
    }
  },
};

class RedisBench {
  private readonly references: Rounds = noRounds();
  private readonly scripts: ScriptTimes[] = [];
  private readonly workers: Workers;
  private readonly setSize: number;

  constructor(
    private readonly redis: RedisInstance,
    private readonly service: Service,
    private readonly options: BenchOptions,
  ) {
    this.setSize = options.quick ? BASE_SIZE / 10 : LARGE_SIZE;
    this.workers = { servicePid: service.pid, serverMicros: () => redis.cpuMicros() };
  }

  async rows(): Promise<Row[]> {
    const { port } = this.service;
    const set = new FingerprintSet(this.redis, 'pipelined');
    const setMemory = await this.fill(set);
    const memory = [
      await memoryRow(this.redis, port, 1e-2),
      await memoryRow(this.redis, port, 1e-3, setMemory),
    ];
    const filters: FilledFilter[] = [];
    for (const size of sizesOf(this.options)) {
      const items = Math.min(size / 2, this.options.quick ? ROUND_ITEMS / 2 : ROUND_ITEMS);
      filters.push(await FilledFilter.create(port, size, items, WARM_UP_IN_FLIGHT));
    }
    await this.runRounds(set, filters);
    await set.close();
    for (const { client } of filters) client.close();
    return [
      ...CASES.map((name) => ({ name: referenceName(name), ...summary(this.references[name]) })),
      ...filters.flatMap((filter) =>
        sizeRows('redis', filters, filter).map((row, i) => this.againstSet(filter, row, CASES[i] as Case)),
      ),
      scriptsRow(this.scripts),
      referenceMemoryRow(setMemory),
      ...memory,
    ];
  }

  private async fill(set: FingerprintSet): Promise<SetMemory> {
    const before = await this.redis.usedMemory();
    await set.fill(this.setSize);
    return { items: this.setSize, bytes: (await this.redis.usedMemory()) - before };
  }

  /** Runs all alternately, so that slow phases of the machine affect all equally. */
  private async runRounds(set: FingerprintSet, filters: readonly FilledFilter[]): Promise<void> {
    const setItems = this.options.quick ? ROUND_ITEMS / 2 : ROUND_ITEMS;
    const all = jsonBodies(0, setItems);
    const roundOf = ({ client, items }: FilledFilter, rounds: Rounds) =>
      runRound(client, all.slice(0, items / BATCH), this.workers, rounds);
    await setRound(set, setItems, noRounds());
    for (const filter of filters) await warmUp(this.options, () => roundOf(filter, noRounds()));
    for (const { client } of filters) client.width = REQUESTS_IN_FLIGHT;
    for (let round = 0; round < (this.options.quick ? 1 : ROUNDS); round++) {
      await setRound(set, setItems, this.references);
      await this.redis.resetScriptTimes();
      for (const filter of filters) await roundOf(filter, filter.rounds);
      this.scripts.push(await this.redis.scriptTimes());
    }
  }

  /** The row, with its Redis CPU relative to the reference. The largest filter has a limit for this ratio. */
  private againstSet({ size }: FilledFilter, row: Row, name: Case): Row {
    const value = (row.cpu?.server ?? NaN) / (summary(this.references[name]).cpu.server ?? NaN);
    const target = atMost(
      `Redis CPU relative to ${SET_COMMAND[name]} of SHA-1`,
      value,
      RATIO_TARGETS[name],
      '×',
    );
    return {
      ...row,
      ratio: { value, against: referenceName(name) },
      targets: [...(size === this.setSize ? [target] : []), ...(row.targets ?? [])],
    };
  }
}

const referenceName = (name: Case) => `reference/${SET_COMMAND[name]}-sha1-${name}`;

function scriptsRow(rounds: readonly ScriptTimes[]): Row {
  const sum = (part: keyof ScriptTimes) => rounds.reduce((total, times) => total + times[part], 0);
  return {
    name: 'redis/scripts',
    figures: [
      { name: 'scripts', value: sum('calls'), unit: '' },
      { name: 'mean', value: sum('micros') / sum('calls'), unit: 'µs' },
      { name: 'worst', value: Math.max(...rounds.map(({ worstMicros }) => worstMicros)), unit: 'µs' },
    ],
    targets: [atMost('scripts above 1 ms', sum('slow'), 0, '')],
  };
}
