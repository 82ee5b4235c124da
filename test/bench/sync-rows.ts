import { onBothStores } from './both-stores.js';
import { CASES, noRounds, runRound, type Case, type Rounds } from './batch-rounds.js';
import { FilterClient } from './filter-client.js';
import { inFlight } from './http-client.js';
import { measured, summary, type Measured as Round, type Workers } from './measured.js';
import { FingerprintSet } from './peers/fingerprint-set.js';
import type { RedisInstance } from './redis-instance.js';
import { assertSetUp, atMost, totalCpu, type BenchOptions, type Group, type Row } from './row.js';
import { BASE_SIZE, sizeName } from './sizes.js';
import { warmUp } from './warm-up.js';
import { batchesOf, flat, jsonBodies, lineBody, urls } from './workload.js';

const ERROR_RATE = 1e-3;
const ROUNDS = 5;
const LISTS = 3;
const ROUND_ITEMS = 100_000;
const BODY_LINES = 50_000;
const REQUESTS_IN_FLIGHT = 2;
/** The share of items that the next list leaves out. It has as many new ones. */
const CHANGED = 1 / 10;
/** Limit on the total CPU per item during an open sync, relative to no sync. */
const LIMIT = 2.2;

interface Filter {
  readonly name: 'alone' | 'beside-a-sync';
  readonly client: FilterClient;
  readonly rounds: Rounds;
}

/**
 * The cost of a sync: batches of 1,000 during an open sync, and lists with nine in ten items from the previous list,
 * from the opening to the end of the commit. For comparison, the same with an exact set: each list fills a new set,
 * which then replaces the old one.
 */
export const syncGroup: Group = {
  name: 'sync',
  measure: (options) => onBothStores(options, rowsOf, async (redis) => [await exactRow(redis, options)]),
};

const sizeOf = ({ quick }: BenchOptions) => (quick ? BASE_SIZE / 10 : BASE_SIZE);

async function rowsOf(store: string, port: number, workers: Workers, options: BenchOptions): Promise<Row[]> {
  const name = `sync-${store}-${sizeName(sizeOf(options))}`;
  return [...(await besideRows(name, port, workers, options)), await listRow(name, port, workers, options)];
}

async function besideRows(
  name: string,
  port: number,
  workers: Workers,
  options: BenchOptions,
): Promise<Row[]> {
  const size = sizeOf(options);
  const items = Math.min(size / 5, ROUND_ITEMS);
  const filters: Filter[] = [];
  for (const filter of ['alone', 'beside-a-sync'] as const) {
    const client = new FilterClient(port, filter, REQUESTS_IN_FLIGHT);
    await client.create(size, ERROR_RATE, 'auto');
    // The rounds use the items from 0 on.
    await client.fill(items, 0.8 * size - items);
    if (filter === 'beside-a-sync') {
      const sync = await client.openSync();
      await client.keep(sync, lineBody('text', items, 0.7 * size));
    }
    filters.push({ name: filter, client, rounds: noRounds() });
  }
  const bodies = jsonBodies(0, items);
  await warmUp(options, async () => {
    for (const { client } of filters) await runRound(client, bodies, workers, noRounds());
  });
  for (let round = 0; round < (options.quick ? 1 : ROUNDS); round++) {
    for (const { client, rounds } of filters) await runRound(client, bodies, workers, rounds);
  }
  for (const { client } of filters) client.close();
  const [alone, beside] = filters as [Filter, Filter];
  return CASES.flatMap((of): Row[] => {
    const [without, row] = [rowOf(name, alone, of), rowOf(name, beside, of)];
    const times = totalCpu(row.cpu ?? {}) / totalCpu(without.cpu ?? {});
    return [without, { ...row, targets: [atMost('total CPU relative to no sync', times, LIMIT, '×')] }];
  });
}

function rowOf(name: string, { name: filter, rounds }: Filter, of: Case): Row {
  return { name: `${name}/${filter}/${of}`, ...summary(rounds[of]) };
}

/** Lists, each shifted by a tenth from the previous one: CPU per line, from the opening to the commit. */
async function listRow(name: string, port: number, workers: Workers, options: BenchOptions): Promise<Row> {
  const size = sizeOf(options);
  const client = new FilterClient(port, 'listed', REQUESTS_IN_FLIGHT);
  await client.create(size, ERROR_RATE, 'auto');
  await client.fill(0, size);
  const rounds: Round[] = [];
  const forgotten: number[] = [];
  for (let list = 1; list <= (options.quick ? 1 : LISTS); list++) {
    const first = Math.floor(list * CHANGED * size);
    const bodies = Array.from({ length: size / BODY_LINES }, (_, n) =>
      lineBody('text', first + n * BODY_LINES, BODY_LINES),
    );
    const sync = async () => {
      const id = await client.openSync();
      await inFlight(REQUESTS_IN_FLIGHT, bodies.length, async (n) => {
        await client.keep(id, bodies[n] as Buffer);
      });
      const { state, wouldForget } = await client.commit(id);
      const share = wouldForget / size / CHANGED;
      assertSetUp(state === 'committed', `the sync is committed, not ${state}`);
      assertSetUp(Math.abs(share - 1) < 0.05, `a tenth is forgotten: ${wouldForget} of ${size}`);
      forgotten.push(wouldForget);
    };
    rounds.push(await measured(workers, size, sync));
  }
  client.close();
  const figures = [{ name: 'forgotten', value: forgotten.at(-1) ?? 0, unit: '' }];
  return { name: `${name}/list`, ...summary(rounds), figures };
}

/** The same lists with a Redis set of fingerprints. Each list fills a new set, which then replaces the old one. */
async function exactRow(redis: RedisInstance, options: BenchOptions): Promise<Row> {
  const size = sizeOf(options);
  const rounds: Round[] = [];
  for (let list = 1; list <= (options.quick ? 1 : LISTS); list++) {
    const batches = batchesOf(flat(urls(Math.floor(list * CHANGED * size), size)));
    const set = new FingerprintSet(redis, 'pipelined', 'next');
    const fill = () =>
      inFlight(set.width, batches.length, async (n) => {
        await set.call('add', batches[n] as string[]);
      });
    rounds.push(await measured(set.workers, size, fill));
    // Renaming is one command. Deleting the old set frees its memory in the background.
    await set.reset();
    await set.close();
  }
  return { name: `sync-redis-${sizeName(size)}/list-into-a-new-set`, ...summary(rounds) };
}
