import { CASES, noRounds, runRound, type Case, type Rounds } from './batch-rounds.js';
import { summary, type Workers } from './measured.js';
import { RedisFilterBench } from './redis-filter.js';
import { RedisInstance, redisVersion, type ScriptTimes } from './redis-instance.js';
import { atMost, type BenchOptions, type Group, type Row, type Target } from './row.js';
import { referenceRound, SET_COMMAND } from './sadd-reference.js';
import { Service } from './service.js';
import { BATCH, jsonBodies } from './workload.js';

const ERROR_RATES = ['1e-2', '1e-3', '1e-4'];

/** The Redis store over HTTP, and beside it, round by round, a set of SHA-1 fingerprints. */
export const redisGroup: Group = {
  name: 'redis',
  async measure(options) {
    if (redisVersion() === undefined) {
      console.error('  skipped: there is no redis-server here; npm run redis:ensure provides one');
      return [];
    }
    const redis = await RedisInstance.start();
    try {
      const service = await Service.start({
        env: { REDIS_URL: redis.url },
        profileDir: options.profileDir,
      });
      try {
        return await new RedisBench(redis, service, options).rows();
      } finally {
        await service.stop();
      }
    } finally {
      await redis.stop();
    }
  },
};

class RedisBench {
  private readonly reference: Rounds = noRounds();
  private readonly scripts: ScriptTimes[] = [];
  private readonly workers: Workers;
  private readonly items: number;
  private readonly roundCount: number;

  constructor(
    private readonly redis: RedisInstance,
    private readonly service: Service,
    options: BenchOptions,
  ) {
    this.items = options.quick ? 50_000 : 200_000;
    this.roundCount = options.quick ? 1 : 3;
    this.workers = { servicePid: service.pid, serverMicros: () => redis.cpuMicros() };
  }

  async rows(): Promise<Row[]> {
    const filters: RedisFilterBench[] = [];
    for (const errorRate of ERROR_RATES) {
      filters.push(await RedisFilterBench.create(this.redis, this.service, errorRate));
    }
    const all = jsonBodies(0, this.items);
    // Rounds of all in turn, so that a slow spell of the machine falls on all alike. The first one warms up.
    for (let round = 0; round <= this.roundCount; round++) {
      const warming = round === 0;
      const bodies = warming ? all.slice(0, all.length / 5) : all;
      await referenceRound(this.redis, bodies.length * BATCH, warming ? noRounds() : this.reference);
      await this.redis.resetScriptTimes();
      for (const filter of filters) {
        await runRound(filter.client, bodies, this.workers, warming ? noRounds() : filter.rounds);
      }
      if (!warming) this.scripts.push(await this.redis.scriptTimes());
      for (const { client } of filters) await client.clear();
    }
    for (const { client } of filters) client.close();
    return [
      ...this.referenceRows(),
      ...filters.flatMap((filter) => CASES.map((name) => this.caseRow(filter, name))),
      scriptsRow(this.scripts),
      ...filters.map(({ memory }) => memory),
    ];
  }

  private referenceRows(): Row[] {
    return CASES.map((name) => ({
      name: `reference/${referenceName(name)}`,
      ...summary(this.reference[name]),
    }));
  }

  private caseRow(filter: RedisFilterBench, name: Case): Row {
    const figures = summary(filter.rounds[name]);
    const server = figures.cpu.server ?? NaN;
    const reference = summary(this.reference[name]).cpu.server ?? NaN;
    const limit = filter.errorRate === '1e-2' ? REDIS_CPU_TARGETS[name] : undefined;
    const targets: Target[] = limit === undefined ? [] : [atMost('Redis CPU an item', server, limit, 'µs')];
    return {
      name: `redis-${filter.errorRate}/${name}`,
      ...figures,
      ratio: { value: server / reference, against: `reference/${referenceName(name)}` },
      targets,
    };
  }
}

const REDIS_CPU_TARGETS: Partial<Record<Case, number>> = { 'add-new': 4, 'add-present': 2.3 };

const referenceName = (name: Case) => `${SET_COMMAND[name]}-sha1-${name}`;

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
