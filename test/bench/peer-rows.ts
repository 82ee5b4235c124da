import { summary } from './measured.js';
import { duplicateShare, type Mix } from './mix.js';
import { BitRoundTrips } from './peers/bit-round-trips.js';
import type { Contender } from './peers/contender.js';
import { FingerprintSet } from './peers/fingerprint-set.js';
import { HashCounters } from './peers/hash-counters.js';
import { ModuleFilter } from './peers/module-filter.js';
import { NpmFilter } from './peers/npm-filter.js';
import { mixTargets, SET_ROW } from './peers/targets.js';
import { Unseen } from './peers/unseen.js';
import {
  noPasses,
  runRound,
  survey,
  WORKLOADS,
  type Passes,
  type Survey,
  type Workload,
} from './peers/workloads.js';
import { mixFrom, realStream, type RealStream } from './real-stream.js';
import { RedisInstance, redisVersion } from './redis-instance.js';
import { totalCpu, type BenchOptions, type Group, type Row } from './row.js';
import { withService } from './service.js';
import { latencyOf } from './statistics.js';
import { warmUp } from './warm-up.js';

/** Number of stream items for the fastest contender. */
const ITEMS = 200_000;
const QUICK_ITEMS = 20_000;
/** Items for the slowest contender. */
const LEAST_ITEMS = 4_000;
const ROUNDS = 3;
const REQUESTS_IN_FLIGHT = 4;
/** About 4,000 batches. */
const WARM_ROUNDS = 9;

/** Unseen and the alternatives in use today, side by side on the same real stream. */
export const peerGroup: Group = {
  name: 'peers',
  async measure(options) {
    if (redisVersion() === undefined) {
      console.error('  the peers in Redis are skipped: redis-server is missing; run npm run redis:ensure');
      return withEmbedded((embedded) => measurePeers(options, [...embedded, new NpmFilter()]));
    }
    const redis = await RedisInstance.start();
    const modules = await moduleFilters();
    try {
      return await withEmbedded((embedded) =>
        withService({ env: { REDIS_URL: redis.url } }, ({ port, pid }) => {
          const workers = { servicePid: pid, serverMicros: () => redis.cpuMicros() };
          return measurePeers(options, [
            ...embedded,
            new Unseen('redis', 'items', port, REQUESTS_IN_FLIGHT, workers),
            new Unseen('redis', 'urls', port, REQUESTS_IN_FLIGHT, workers),
            new FingerprintSet(redis, 'pipelined'),
            new FingerprintSet(redis, 'variadic'),
            ...modules,
            new HashCounters(redis),
            new BitRoundTrips(redis),
            new NpmFilter(),
          ]);
        }),
      );
    } finally {
      await redis.stop();
    }
  },
};

function withEmbedded(work: (contenders: readonly Contender[]) => Promise<Row[]>): Promise<Row[]> {
  return withService({}, ({ port, pid }) => {
    const workers = { servicePid: pid };
    return work([
      new Unseen('embedded', 'items', port, REQUESTS_IN_FLIGHT, workers),
      new Unseen('embedded', 'urls', port, REQUESTS_IN_FLIGHT, workers),
    ]);
  });
}

/** The filters in the servers that environment variables name. */
async function moduleFilters(): Promise<ModuleFilter[]> {
  const urls = process.env['REDISBLOOM_URL'];
  if (urls === undefined) console.error("  the module's filter is skipped: REDISBLOOM_URL is not set");
  const found: ModuleFilter[] = [];
  for (const url of urls?.split(',') ?? []) {
    const filter = await ModuleFilter.at(url);
    if (filter) found.push(filter);
    else console.error(`  ${url} is skipped: a server without CF.INSERTNX and BF.INSERT`);
  }
  return found;
}

/** One contender's parameters and results. */
interface Entry {
  readonly contender: Contender;
  readonly mix: Mix;
  readonly survey: Survey;
  readonly passes: Passes;
}

async function measurePeers(options: BenchOptions, contenders: readonly Contender[]): Promise<Row[]> {
  const stream = realStream();
  const items = options.quick ? QUICK_ITEMS : ITEMS;
  const mixes = new Map<number, Mix>();
  const entries: Entry[] = [];
  try {
    for (const contender of contenders) {
      const count = Math.max(items * contender.share, LEAST_ITEMS);
      const mix = mixes.get(count) ?? mixFrom(stream, count);
      mixes.set(count, mix);
      entries.push({ contender, mix, survey: await survey(contender, mix), passes: noPasses() });
    }
    for (const { contender, mix } of entries) {
      const least = contender.workers.servicePid === undefined ? 1 : WARM_ROUNDS;
      await warmUp(options, () => runRound(contender, mix, noPasses()), least);
    }
    // Runs all alternately, so that slow phases of the machine affect all equally, and none always follows the same
    // one.
    for (let round = 0; round < (options.quick ? 1 : ROUNDS); round++) {
      const turn = round % 2 === 0 ? entries : entries.toReversed();
      for (const { contender, mix, passes } of turn) await runRound(contender, mix, passes);
    }
  } finally {
    for (const contender of contenders) await contender.close();
  }
  const rows = WORKLOADS.flatMap((workload) => rowsOf(workload, entries, stream));
  return rows.map((row) => ({ ...row, ...mixTargets(row, rows) }));
}

function rowsOf(workload: Workload, entries: readonly Entry[], { source }: RealStream): Row[] {
  const rows = entries
    .filter(({ passes }) => passes[workload].length > 0)
    .map(({ contender, mix, survey: { bytesPerItem, errorRate }, passes }): Row => {
      const rounds = passes[workload];
      return {
        name: `${workload}/${contender.name}`,
        ...summary(rounds),
        ...(contender.name === 'npm-bloom-filters'
          ? {}
          : { latency: latencyOf(rounds.flatMap(({ times }) => times)) }),
        ...(workload === 'mix' ? { bytesPerItem, errorRate } : {}),
        figures: [
          { name: source, value: rounds[0]?.items ?? 0, unit: '' },
          ...(workload === 'mix'
            ? [{ name: 'duplicates', value: 100 * duplicateShare(mix), unit: '%' }]
            : []),
          { name: 'items per call', value: contender.batch, unit: '' },
        ],
      };
    });
  const set = rows.find(({ name }) => name === `${workload}/${SET_ROW}`);
  if (set === undefined) return rows;
  const unit = totalCpu(set.cpu ?? {});
  return rows.map((row) =>
    row === set ? row : { ...row, ratio: { value: totalCpu(row.cpu ?? {}) / unit, against: set.name } },
  );
}
