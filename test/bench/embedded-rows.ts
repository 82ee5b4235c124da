import { noRounds, runRound, type Rounds } from './batch-rounds.js';
import { FilledFilter, sizeRows } from './filled-filter.js';
import { measured } from './measured.js';
import { assertSetUp, atLeast, type BenchOptions, type Group, type Row } from './row.js';
import { withService } from './service.js';
import { LARGE_SIZE, sizesOf } from './sizes.js';
import { warmUp } from './warm-up.js';
import { BATCH, jsonBodies } from './workload.js';

const WIDTHS = [2, 4, 8];
const TARGET = 2_000_000;
const MAX_ROUNDS = 50;
const ROUND_ITEMS = 500_000;
/** The time for a size's four rows, as a multiple of a row's time. */
const SECONDS_SHARE = 2;

/** Batches of 1,000 in JSON: one service process, this process as its client, and several requests in flight. */
export const embeddedGroup: Group = {
  name: 'embedded-batch',
  measure: (options) =>
    withService({ profileDir: options.profileDir }, async ({ port, pid }) => {
      const filters: FilledFilter[] = [];
      for (const size of sizesOf(options)) {
        const items = Math.min(size / 2, options.quick ? ROUND_ITEMS / 5 : ROUND_ITEMS);
        filters.push(await FilledFilter.create(port, size, items, Math.max(...WIDTHS)));
      }
      const all = jsonBodies(0, Math.max(...filters.map(({ items }) => items)));
      const width = await bestWidth(filters, all);
      await runRounds(options, filters, all, width, { servicePid: pid });
      for (const { client } of filters) client.close();
      return filters.flatMap((filter) =>
        sizeRows('embedded', filters, filter).map(finish(filter.size, width)),
      );
    }),
};

/** Measures all sizes alternately, so that slow phases of the machine affect all equally. */
async function runRounds(
  options: BenchOptions,
  filters: readonly FilledFilter[],
  all: readonly Buffer[],
  width: number,
  workers: { servicePid: number },
): Promise<void> {
  for (const { client } of filters) client.width = width;
  const roundOf = ({ client, items }: FilledFilter, rounds: Rounds) =>
    runRound(client, all.slice(0, items / BATCH), workers, rounds);
  await warmUp(options, async () => {
    for (const filter of filters) await roundOf(filter, noRounds());
  });
  const end = performance.now() + options.seconds * SECONDS_SHARE * 1_000 * filters.length;
  for (let round = 0; round < MAX_ROUNDS && (round === 0 || performance.now() < end); round++) {
    for (const filter of filters) await roundOf(filter, filter.rounds);
  }
}

/** The width among WIDTHS that is fastest for checks on a warm service. */
async function bestWidth(filters: readonly FilledFilter[], bodies: readonly Buffer[]): Promise<number> {
  const { client } = filters.at(-1) as FilledFilter;
  const micros = new Map<number, number>();
  const time = (width: number) => micros.get(width) ?? Infinity;
  // Measures the first width twice, because the compiler has finished by the second time.
  for (const width of [WIDTHS[0] as number, ...WIDTHS]) {
    client.width = width;
    const { wall } = await measured({}, bodies.length * BATCH, () => client.batches('check', bodies));
    micros.set(width, wall);
  }
  return WIDTHS.reduce((best, width) => (time(width) < time(best) ? width : best));
}

const finish =
  (size: number, width: number) =>
  (row: Row): Row => {
    const figures = [{ name: 'requests in flight', value: width, unit: '' }];
    if (size !== LARGE_SIZE || !row.name.includes('add')) return { ...row, figures };
    assertSetUp(row.itemsPerSecond !== undefined, 'rows of batches have a speed');
    const target = atLeast('adds per second', row.itemsPerSecond, TARGET, 'items/s');
    return { ...row, figures, targets: [...(row.targets ?? []), target] };
  };
