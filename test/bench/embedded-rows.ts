import { CASES, noRounds, runRound } from './batch-rounds.js';
import { FilterClient, type Verb } from './filter-client.js';
import { inFlight } from './http-client.js';
import { measured, summary, type Measured } from './measured.js';
import { assertSetUp, atLeast, type BenchOptions, type Group, type Row } from './row.js';
import { Service } from './service.js';
import { quantile } from './statistics.js';
import { BATCH, jsonBodies, jsonBody, lineBody } from './workload.js';

const CAPACITY = 10_000_000;
const ERROR_RATE = 1e-2;
const WIDTHS = [2, 4, 8];
const TARGET = 700_000;
const MAX_ROUNDS = 50;
const BATCH_FILTER = 'batches';

/** Batches of 1,000 in JSON: one service process, this process as its client, several requests in flight. */
export const embeddedGroup: Group = {
  name: 'embedded-batch',
  measure: (options) =>
    withService(options, async (service) => {
      const bodies = jsonBodies(0, options.quick ? 200_000 : 1_000_000);
      const workers = { servicePid: service.pid };
      const width = await bestWidth(service, bodies);
      const filter = new FilterClient(service.port, BATCH_FILTER, width);
      const rounds = noRounds();
      const end = performance.now() + options.seconds * 1_000 * CASES.length;
      for (let round = 0; round < MAX_ROUNDS && (round === 0 || performance.now() < end); round++) {
        await runRound(filter, bodies, workers, rounds);
        await filter.clear();
      }
      filter.close();
      return CASES.map((name): Row => {
        const figures = summary(rounds[name]);
        const target = atLeast('adds a second', figures.itemsPerSecond, TARGET, 'items/s');
        return {
          name: `embedded/${name}`,
          ...figures,
          figures: [{ name: 'requests in flight', value: width, unit: '' }],
          ...(name.startsWith('add') ? { targets: [target] } : {}),
        };
      });
    }),
};

/** The fastest of WIDTHS, once the service is warm. */
async function bestWidth(service: Service, bodies: readonly Buffer[]): Promise<number> {
  const micros = new Map<number, number>();
  const time = (width: number) => micros.get(width) ?? Infinity;
  for (const width of [WIDTHS[0] as number, ...WIDTHS]) {
    const filter = new FilterClient(service.port, BATCH_FILTER, width);
    if (micros.size === 0) await filter.create(CAPACITY, ERROR_RATE);
    const { wall } = await measured({}, bodies.length * BATCH, () => filter.batches('add', bodies));
    // The first of them is measured once more: then the compiler has done its work.
    micros.set(width, wall);
    await filter.clear();
    filter.close();
  }
  return WIDTHS.reduce((best, width) => (time(width) < time(best) ? width : best));
}

const STREAM_LINES = 100_000;

/** Bodies of 100,000 lines, two at a time. */
export const streamGroup: Group = {
  name: 'embedded-stream',
  measure: (options) =>
    withService(options, async (service) => {
      const rows: Row[] = [];
      for (const format of ['ndjson', 'text'] as const) {
        for (const answers of [true, false]) {
          rows.push(await streamRow(service, options, format, answers));
        }
      }
      return rows;
    }),
};

async function streamRow(
  service: Service,
  options: BenchOptions,
  format: 'ndjson' | 'text',
  answers: boolean,
): Promise<Row> {
  const workers = { servicePid: service.pid };
  const name = `embedded/stream-${format}${answers ? '' : '-counts-only'}`;
  const filter = new FilterClient(service.port, name.replace('/', '-'), 2);
  await filter.create(CAPACITY, ERROR_RATE);
  const bodies = Array.from({ length: options.quick ? 2 : 6 }, (_, i) =>
    lineBody(format, i * STREAM_LINES, STREAM_LINES),
  );
  const rounds: Measured[] = [];
  for (let round = 0; round < (options.quick ? 1 : 3); round++) {
    rounds.push(
      await measured(workers, bodies.length * STREAM_LINES, async () => {
        await inFlight(filter.width, bodies.length, async (i) => {
          const counts = await filter.stream('add', format, bodies[i] as Buffer, answers);
          const fresh = counts['new'] ?? 0;
          assertSetUp(
            fresh > 0.99 * STREAM_LINES,
            `${name}: nearly all lines are new: ${JSON.stringify(counts)}`,
          );
        });
      }),
    );
    await filter.clear();
  }
  filter.close();
  return { name, ...summary(rounds) };
}

/** One item a call: one at a time for the latency, eight for the throughput. */
export const singleGroup: Group = {
  name: 'embedded-single',
  measure: (options) =>
    withService(options, async (service) => {
      const rows: Row[] = [];
      for (const width of [1, 8]) {
        const filter = new FilterClient(service.port, `singles-${width}`, width);
        await filter.create(CAPACITY, ERROR_RATE);
        rows.push(await singleRow(service, options, filter, 'add', '{"results":[true]}'));
        rows.push(await singleRow(service, options, filter, 'check', '{"results":[true]}'));
        filter.close();
      }
      return rows;
    }),
};

async function singleRow(
  service: Service,
  options: BenchOptions,
  filter: FilterClient,
  verb: Verb,
  expected: string,
): Promise<Row> {
  const workers = { servicePid: service.pid };
  const bodies = Array.from({ length: options.quick ? 500 : 10_000 }, (_, i) => jsonBody(i, 1));
  let times: number[] = [];
  const round = await measured(workers, bodies.length, async () => {
    times = await filter.singles(verb, bodies, expected);
  });
  return {
    name: `embedded/single-${verb}-${filter.width}-in-flight`,
    ...summary([round]),
    figures: [
      { name: 'p50', value: quantile(times, 0.5), unit: 'ms' },
      { name: 'p99', value: quantile(times, 0.99), unit: 'ms' },
    ],
  };
}

async function withService(
  options: BenchOptions,
  work: (service: Service) => Promise<Row[]>,
): Promise<Row[]> {
  const service = await Service.start({ profileDir: options.profileDir });
  try {
    return await work(service);
  } finally {
    await service.stop();
  }
}
