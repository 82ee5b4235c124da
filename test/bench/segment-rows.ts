import { positionsOf } from '#bloom';
import type { Filter } from '#store';
import { RedisStore } from '#store/redis';
import { measured, summary, type Measured, type Workers } from './measured.js';
import { RedisInstance, redisVersion } from './redis-instance.js';
import { assertSetUp, totalCpu, type BenchOptions, type Group, type Row } from './row.js';
import { makeFilter, operation, TIMEOUT_MS } from './store-filter.js';
import { BATCH, batchesOf, urls } from './workload.js';

const SEGMENTS = [1, 12, 100, 500, 5_000];
const ITEMS = 20_000;
const ROUNDS = 5;

/**
 * What batches of a thousand URLs cost on Redis, by the number of segments in the set. A batch runs one script in each
 * segment that its URLs belong to, so large sets have smaller scripts. Uses only the store. The sets are small, so
 * that memory plays no part.
 */
export const segmentGroup: Group = {
  name: 'segments',
  async measure(options) {
    if (redisVersion() === undefined) {
      console.error('  skipped: redis-server is missing; run npm run redis:ensure');
      return [];
    }
    const redis = await RedisInstance.start();
    const store = await RedisStore.open({ url: redis.url, timeoutMs: TIMEOUT_MS });
    try {
      return await rowsOf(store, { serverMicros: () => redis.cpuMicros() }, options);
    } finally {
      await store.close();
      await redis.stop();
    }
  },
};

async function rowsOf(store: RedisStore, workers: Workers, { quick }: BenchOptions): Promise<Row[]> {
  const subjects: Subject[] = [];
  for (const segments of SEGMENTS) subjects.push(await subjectOf(store, segments));
  // All sets take turns, so that slow phases of the machine affect all of them. The first round warms up.
  for (let round = 0; round <= (quick ? 1 : ROUNDS); round++) {
    for (const { filter, adds, checks } of subjects) {
      const items = quick ? ITEMS / 10 : ITEMS;
      const batches = batchesOf(urls(round * items, items));
      const add = await measured(workers, items, () => addAll(store, filter, batches));
      const check = await measured(workers, items, () => checkAll(store, filter, batches));
      if (round === 0) continue;
      adds.push(add);
      checks.push(check);
    }
  }
  return (['adds', 'checks'] as const).flatMap((call) => {
    const rows = subjects.map((subject) => ({
      name: `segments/${call === 'adds' ? 'add' : 'check'}-${subject.segments}`,
      ...summary(subject[call]),
    }));
    const [one] = rows;
    return rows.map((row) =>
      one === undefined || row === one
        ? row
        : { ...row, ratio: { value: totalCpu(row.cpu) / totalCpu(one.cpu), against: one.name } },
    );
  });
}

interface Subject {
  readonly segments: number;
  readonly filter: Filter;
  readonly adds: Measured[];
  readonly checks: Measured[];
}

async function subjectOf(store: RedisStore, segments: number): Promise<Subject> {
  const segmentation = { maxSegmentBytes: 2 ** 24, minSegments: segments, minSegmentBytes: 1 };
  const filter = await makeFilter(store, segmentation);
  assertSetUp(filter.geometry.segments === segments, `the set has ${filter.geometry.segments} segments`);
  return { segments, filter, adds: [], checks: [] };
}

async function addAll(store: RedisStore, filter: Filter, batches: readonly string[][]): Promise<void> {
  for (const batch of batches) {
    const positions = positionsOf(batch, filter.seed, filter.geometry);
    await store.counters.add(filter, positions, operation(), {});
  }
}

async function checkAll(store: RedisStore, filter: Filter, batches: readonly string[][]): Promise<void> {
  let present = 0;
  for (const batch of batches) {
    const positions = positionsOf(batch, filter.seed, filter.geometry);
    const answers = await store.counters.check(filter, positions, Date.now() + TIMEOUT_MS);
    for (const answer of answers) present += answer;
  }
  assertSetUp(present === batches.length * BATCH, 'every added URL is present');
}
