import { onBothStores } from './both-stores.js';
import { CASES, noRounds, runRound, type Case, type Rounds } from './batch-rounds.js';
import { FilterClient } from './filter-client.js';
import { summary, type Workers } from './measured.js';
import { atMost, totalCpu, type BenchOptions, type Group, type Row, type Target } from './row.js';
import { BASE_SIZE, sizeName } from './sizes.js';
import { warmUp } from './warm-up.js';
import { jsonBodies } from './workload.js';

const ERROR_RATE = 1e-3;
const ROUNDS = 5;
const ROUND_ITEMS = 100_000;
const REQUESTS_IN_FLIGHT = 2;
/** The initial capacity of a grown filter, as a share of its items. */
const BEGAN_AT = 1 / 10;

/** Limits on the total CPU per item, relative to a filter made for the same number of items that can't grow. */
const LIMITS = {
  /** A filter made for the same number of items that may grow. */
  'may-grow': { 'add-new': 1.05, 'add-present': 1.05, check: 1.05, remove: 1.05 },
  grown: { 'add-new': 1.6, 'add-present': 1.6, check: 1.6, remove: undefined },
} as const satisfies Record<string, Record<Case, number | undefined>>;

interface Measured {
  readonly name: 'fixed' | keyof typeof LIMITS;
  readonly client: FilterClient;
  readonly rounds: Rounds;
}

/** The cost of growth: batches of 1,000 in a filter that can't grow, one that may, and one that has grown tenfold. */
export const growthGroup: Group = {
  name: 'growth',
  measure: (options) => onBothStores(options, rowsOf),
};

async function rowsOf(store: string, port: number, workers: Workers, options: BenchOptions): Promise<Row[]> {
  const size = options.quick ? BASE_SIZE / 10 : BASE_SIZE;
  const items = Math.min(size / 5, ROUND_ITEMS);
  const filters: Measured[] = [];
  for (const [name, capacity, growth] of [
    ['fixed', size, 'none'],
    ['may-grow', size, 'auto'],
    ['grown', size * BEGAN_AT, 'auto'],
  ] as const) {
    const client = new FilterClient(port, `growth-${name}`, REQUESTS_IN_FLIGHT);
    await client.create(capacity, ERROR_RATE, growth);
    // Rounds use the items from 0 on. Filled to 80 %, `may-grow` keeps one layer.
    await client.fill(items, 0.8 * size - items);
    filters.push({ name, client, rounds: noRounds() });
  }
  const bodies = jsonBodies(0, items);
  await warmUp(options, async () => {
    for (const { client } of filters) await runRound(client, bodies, workers, noRounds());
  });
  for (let round = 0; round < (options.quick ? 1 : ROUNDS); round++) {
    for (const { client, rounds } of filters) await runRound(client, bodies, workers, rounds);
  }
  const [fixed, ...others] = filters as [Measured, ...Measured[]];
  const rows = CASES.map((name): Row => rowOf(store, size, fixed, name));
  for (const filter of others) {
    for (const name of CASES) {
      const row = rowOf(store, size, filter, name);
      rows.push({ ...row, targets: targetsOf(filter.name, name, row, fixed) });
    }
    const { layers, memoryBytes } = await filter.client.view();
    const bytesPerItem = memoryBytes / size;
    const figures = [{ name: 'layers', value: layers.length, unit: '' }];
    rows.push({ name: `growth-${store}-${sizeName(size)}/${filter.name}/memory`, bytesPerItem, figures });
  }
  const { memoryBytes } = await fixed.client.view();
  rows.push({ name: `growth-${store}-${sizeName(size)}/fixed/memory`, bytesPerItem: memoryBytes / size });
  for (const { client } of filters) client.close();
  return rows;
}

function rowOf(store: string, size: number, { name, rounds }: Measured, of: Case): Row {
  return { name: `growth-${store}-${sizeName(size)}/${name}/${of}`, ...summary(rounds[of]) };
}

function targetsOf(filter: Measured['name'], name: Case, row: Row, fixed: Measured): Target[] {
  const limit = filter === 'fixed' ? undefined : LIMITS[filter][name];
  if (limit === undefined) return [];
  const times = totalCpu(row.cpu ?? {}) / totalCpu(summary(fixed.rounds[name]).cpu);
  return [atMost('total CPU relative to a filter that cannot grow', times, limit, '×')];
}
