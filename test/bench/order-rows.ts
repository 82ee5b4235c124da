import { onBothStores } from './both-stores.js';
import { measured, summary, type Measured, type Workers } from './measured.js';
import { QueueClient } from './queue-client.js';
import { assertSetUp, atMost, totalCpu, type BenchOptions, type Group, type Row } from './row.js';
import { warmUp } from './warm-up.js';
import { BATCH } from './workload.js';

const URLS = 300_000;
const QUICK_URLS = 30_000;
const ROUNDS = 5;
const WARM_ROUNDS = 3;
const ERROR_RATE = 1e-3;
const WIDTH = 2;
const DAY = 86_400;
/** CPU relative to the same call without options. */
const MOST_AGAINST_PLAIN = 1.5;

/** Call options, by their name in rows. Each is measured next to the call without options. */
const DISCOVERIES = {
  discover: '',
  'discover-high': '&priority=high',
  'discover-later': `&delaySeconds=${DAY}`,
};
const ACKS = { 'lease-ack': undefined, 'lease-ack-again': { againAfterSeconds: DAY } };

/** The cost of priorities and scheduled URLs, next to the same calls without them. */
export const orderGroup: Group = {
  name: 'order',
  measure: (options) => onBothStores(options, rowsOf),
};

async function rowsOf(store: string, port: number, workers: Workers, options: BenchOptions): Promise<Row[]> {
  const count = options.quick ? QUICK_URLS : (options.size ?? URLS);
  const rounds = options.quick ? 1 : ROUNDS;
  const times: Record<string, Measured[]> = {};
  const time = async (row: string, items: number, work: () => Promise<unknown>): Promise<void> => {
    (times[row] ??= []).push(await measured(workers, items, work));
  };
  /** Each round has its own sets. Otherwise, the store would still be purging cleared queues during the next row. */
  const round = async (name: string, number: number): Promise<void> => {
    const lines = linesOf(number * count, count);
    const sets: QueueClient[] = [];
    for (const [row, query] of Object.entries(DISCOVERIES)) {
      const set = new QueueClient(port, `${name}-${number}-${row}`, 8);
      await set.create(count, ERROR_RATE);
      await time(row, count, () => set.stream('discover', lines, query));
      sets.push(set);
    }
    const [plain, high] = sets as [QueueClient, QueueClient];
    for (const [row, how] of Object.entries(ACKS)) {
      await time(row, count, async () => {
        const done = await (how ? high : plain).drain(BATCH, WIDTH, how);
        assertSetUp(done > 0.98 * count, `${done} of ${count} URLs are leased and acknowledged`);
      });
    }
    for (const set of sets) {
      await set.drop();
      set.close();
    }
  };
  let warmed = 0;
  await warmUp(options, () => round('order-warm', warmed++), WARM_ROUNDS);
  for (const row of Object.keys(times)) times[row] = [];
  for (let number = 0; number < rounds; number++) await round('order', number);
  const of = (row: string): Row & ReturnType<typeof summary> => ({
    name: `${store}/order-${row}`,
    ...summary(times[row] ?? []),
  });
  return [DISCOVERIES, ACKS].flatMap((calls) => {
    const [base, ...others] = Object.keys(calls).map(of) as [
      ReturnType<typeof of>,
      ...ReturnType<typeof of>[],
    ];
    return [
      base,
      ...others.map((row) => {
        const value = totalCpu(row.cpu) / totalCpu(base.cpu);
        const targets = [
          atMost('CPU relative to the same call without options', value, MOST_AGAINST_PLAIN, 'x'),
        ];
        return { ...row, ratio: { value, against: base.name }, targets };
      }),
    ];
  });
}

/** `count` URLs, starting at number `first`, one per line. */
function linesOf(first: number, count: number): Buffer {
  const urls = Array.from(
    { length: count },
    (_, n) =>
      `https://www.example.org/archive/2026/11/21/story-${String(first + n).padStart(12, '0')}.html\n`,
  );
  return Buffer.from(urls.join(''));
}
