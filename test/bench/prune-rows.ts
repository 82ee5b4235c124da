import { setTimeout as sleep } from 'node:timers/promises';
import { onBothStores } from './both-stores.js';
import { measured, summary, type Measured, type Workers } from './measured.js';
import { QueueClient } from './queue-client.js';
import { assertSetUp, totalCpu, type BenchOptions, type Group, type Row } from './row.js';

const URLS = 100_000;
const QUICK_URLS = 20_000;
const ROUNDS = 3;
const PAGE = 1_000;
const ERROR_RATE = 1e-9;
/** One URL in this many is in the part that is dropped and forgotten. */
const PART = 10;
const DELAY_SECONDS = 1;

const urlOf = (n: number): string =>
  `https://www.example.org/part-${n % PART}/2026/11/27/story-${String(n).padStart(12, '0')}.html`;

/** The cost of looking at a queue entry, and of dropping it, next to discovering the same URL. */
export const pruneGroup: Group = {
  name: 'prune',
  measure: (options) => onBothStores(options, rowsOf),
};

async function rowsOf(store: string, port: number, workers: Workers, options: BenchOptions): Promise<Row[]> {
  const count = options.quick ? QUICK_URLS : (options.size ?? URLS);
  const lines = Buffer.from(`${Array.from({ length: count }, (_, n) => urlOf(n)).join('\n')}\n`);
  const times: Record<string, Measured[]> = {};
  // The first round warms up. Each round has its own set, because a sweep may still be removing URLs that the last
  // round dropped.
  for (let round = 0; round <= (options.quick ? 1 : ROUNDS); round++) {
    const set = new QueueClient(port, `prune-${round}`, 1);
    await set.create(count, ERROR_RATE);
    const time = async (row: string, items: number, matching: number, work: () => Promise<number>) => {
      let found = NaN;
      const one = await measured(workers, items, async () => (found = await work()));
      assertSetUp(found === matching, `${row}: ${found} of ${count} URLs match, and not ${matching}`);
      if (round > 0) (times[row] ??= []).push(one);
    };
    const few = count / PART;
    await time('discover', count, count, async () => (await set.stream('discover', lines))['new'] ?? 0);
    await time('list-1000', count, count, () => set.list(PAGE));
    const part = { prefix: 'https://www.example.org/part-0/' };
    await time('count', count, few, () => set.prune({ ...part, dryRun: true }));
    // Looks at all URLs.
    await time('forget-part', few, few, () => set.prune({ ...part, forget: true }));
    await time('drop', count - few, count - few, () => set.prune({ all: true }));
    set.close();
    // All URLs are due, and no lease has moved them yet.
    const due = new QueueClient(port, `prune-due-${round}`, 1);
    await due.create(count, ERROR_RATE);
    await due.stream('discover', lines, `&delaySeconds=${DELAY_SECONDS}`);
    await sleep(DELAY_SECONDS * 1_000);
    await time('list-due', count, count, () => due.list(PAGE));
    await time('drop-due', count, count, () => due.prune({ state: 'waiting' }));
    due.close();
  }
  const rows = Object.entries(times).map(([row, found]) => ({
    name: `${store}/prune-${row}`,
    ...summary(found),
  }));
  const [discover] = rows;
  return rows.map((row) => ({
    ...row,
    ...(discover &&
      row !== discover && { ratio: { value: cost(row) / cost(discover), against: discover.name } }),
  }));
}

/** The CPU of the service and its store, without the client's. */
function cost({ cpu }: Pick<Row, 'cpu'>): number {
  return totalCpu({ ...cpu, client: 0 });
}
