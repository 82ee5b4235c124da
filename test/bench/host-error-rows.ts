import { onBothStores } from './both-stores.js';
import type { Workers } from './measured.js';
import { QueueClient } from './queue-client.js';
import { assertSetUp, atMost, type BenchOptions, type Group, type Row } from './row.js';
import { BASE_SIZE } from './sizes.js';
import { hostLines } from './workload.js';

const QUICK_URLS = 20_000;
const ERROR_RATE = 1e-2;

/** The error rate of a set at its capacity, with 90 % of its URLs from one host. */
export const hostErrorGroup: Group = {
  name: 'hosts-error-rate',
  measure: (options) => onBothStores(options, rowsOf),
};

async function rowsOf(store: string, port: number, _: Workers, options: BenchOptions): Promise<Row[]> {
  const count = options.quick ? QUICK_URLS : (options.size ?? BASE_SIZE);
  const set = new QueueClient(port, 'hosts-error-rate', 1);
  await set.create(count, ERROR_RATE, { perHost: {} });
  // All hosts' URLs are mixed, as a crawl finds them. Host 0 is the large one.
  const stored = hostLines(0, count, (i) => (i % 10 < 9 ? 0 : i), count);
  const { new: added = 0 } = await set.stream('discover', stored);
  assertSetUp(added > 0.98 * count, `${added} of ${count} URLs are stored`);
  const absent = async (hostOf: (i: number) => number): Promise<number> => {
    const { seen = 0 } = await set.stream('check', hostLines(count, count, hostOf, 2 * count));
    return seen / count;
  };
  const errorRate = await absent(() => 0);
  const others = await absent((i) => i);
  set.close();
  return [
    {
      name: `${store}/hosts-error-rate`,
      errorRate,
      figures: [{ name: 'error rate of other hosts', value: 100 * others, unit: '%' }],
      targets: [atMost('error rate relative to the requested one', errorRate / ERROR_RATE, 1, '×')],
    },
  ];
}
