import { FilterClient } from './filter-client.js';
import { inFlight } from './http-client.js';
import { measured, summary, type Measured } from './measured.js';
import { assertSetUp, type BenchOptions, type Group, type Row } from './row.js';
import { withService, type Service } from './service.js';
import { warmUp } from './warm-up.js';
import { lineBody } from './workload.js';

const CAPACITY = 10_000_000;
const ERROR_RATE = 1e-2;
const LINES = 100_000;
const BODIES = 6;
const ROUNDS = 3;

/** Bodies of 100,000 lines, two at a time. */
export const streamGroup: Group = {
  name: 'embedded-stream',
  measure: (options) =>
    withService({ profileDir: options.profileDir }, async (service) => {
      const rows: Row[] = [];
      for (const format of ['ndjson', 'text'] as const) {
        for (const answers of [true, false]) rows.push(await row(service, options, format, answers));
      }
      return rows;
    }),
};

async function row(
  service: Service,
  options: BenchOptions,
  format: 'ndjson' | 'text',
  answers: boolean,
): Promise<Row> {
  const name = `embedded/stream-${format}${answers ? '' : '-counts-only'}`;
  const filter = new FilterClient(service.port, name.replace('/', '-'), 2);
  await filter.create(CAPACITY, ERROR_RATE);
  const bodies = Array.from({ length: options.quick ? 2 : BODIES }, (_, i) =>
    lineBody(format, i * LINES, LINES),
  );
  const addAll = () =>
    inFlight(filter.width, bodies.length, async (i) => {
      const counts = await filter.stream('add', format, bodies[i] as Buffer, answers);
      const fresh = counts['new'] ?? 0;
      assertSetUp(fresh > 0.99 * LINES, `${name}: nearly all lines are new: ${JSON.stringify(counts)}`);
    });
  await warmUp(options, async () => {
    await addAll();
    await filter.clear();
  });
  const rounds: Measured[] = [];
  for (let round = 0; round < (options.quick ? 1 : ROUNDS); round++) {
    rounds.push(await measured({ servicePid: service.pid }, bodies.length * LINES, addAll));
    await filter.clear();
  }
  filter.close();
  return { name, ...summary(rounds) };
}
