import { positionsOf } from '#bloom';
import { RedisStore } from '#store/redis';
import { startRedis } from '../support/redis-server.js';
import { untilInStep } from '../support/redis-failover.js';
import { redisVersion } from './redis-instance.js';
import type { Group, Row } from './row.js';
import { median } from './statistics.js';
import { makeFilter, operation, TIMEOUT_MS } from './store-filter.js';

const ROUNDS = 5;

/** The call patterns: how many at a time, and how many new items in each. */
const CASES = [
  { name: 'add-1', items: 1, atOnce: 1, calls: 500 },
  { name: 'add-1-of-64', items: 1, atOnce: 64, calls: 6_400 },
  { name: 'add-1000', items: 1_000, atOnce: 1, calls: 40 },
] as const;

type Case = (typeof CASES)[number];

/** The cost of waiting for a replica. Uses only the store, on a master with one replica on this machine. */
export const waitGroup: Group = {
  name: 'wait',
  async measure({ quick }) {
    if (redisVersion() === undefined) {
      console.error('  skipped: redis-server is missing; run npm run redis:ensure');
      return [];
    }
    const prompt = ['--repl-diskless-sync-delay', '0'];
    const master = await startRedis({ args: prompt });
    const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(master.port), ...prompt] });
    const stores: RedisStore[] = [];
    try {
      await untilInStep(master);
      for (const waitReplicas of [0, 1]) {
        stores.push(await RedisStore.open({ url: master.url, timeoutMs: TIMEOUT_MS, waitReplicas }));
      }
      return await compare(stores, quick);
    } finally {
      await Promise.all(stores.map((store) => store.close()));
      await Promise.all([master.stop(), replica.stop()]);
    }
  },
};

/** Alternates rounds of both stores, so that slow phases of the machine affect both equally. */
async function compare(stores: readonly RedisStore[], quick: boolean): Promise<Row[]> {
  const rows: Row[] = [];
  for (const each of CASES) {
    const micros: number[][] = stores.map(() => []);
    for (let round = 0; round <= (quick ? 1 : ROUNDS); round++) {
      for (const [waiting, store] of stores.entries()) {
        const taken = await timeOf(store, each, quick);
        // The first round warms up.
        if (round > 0) micros[waiting]?.push(taken);
      }
    }
    const [without = NaN, waited = NaN] = micros.map(median);
    rows.push({
      name: `wait/${each.name}`,
      figures: [
        { name: 'call', value: without, unit: 'µs' },
        { name: 'call that waits for 1 replica', value: waited, unit: 'µs' },
        { name: 'times', value: waited / without, unit: '' },
      ],
    });
  }
  return rows;
}

/** µs per call, as one of `atOnce` callers sees it. */
async function timeOf(store: RedisStore, { items, atOnce, calls }: Case, quick: boolean): Promise<number> {
  const filter = await makeFilter(store, store.segmentation);
  const each = Math.ceil((quick ? calls / 5 : calls) / atOnce);
  const from = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async (_, caller) => {
      for (let call = 0; call < each; call++) {
        const keys = Array.from({ length: items }, (_, n) => `caller ${caller} call ${call} item ${n}`);
        await store.counters.add(filter, positionsOf(keys, filter.seed, filter.geometry), operation());
      }
    }),
  );
  const taken = ((performance.now() - from) * 1_000) / each;
  await store.drop(filter.name, filter.kind, operation());
  return taken;
}
