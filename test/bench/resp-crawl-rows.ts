import { respCommand } from '../support/resp-client.js';
import { measured, summary, type Measured, type Workers } from './measured.js';
import { QueueClient } from './queue-client.js';
import type { BenchRespClient } from './resp-client.js';
import { assertSetUp, type BenchOptions, type Row } from './row.js';
import type { Service } from './service.js';
import { BATCH, urlAt } from './workload.js';

const URLS = 100_000;
const ROUNDS = 3;
const ERROR_RATE = 1e-4;

/**
 * Measures a crawl over the Redis protocol: pipelines of a thousand UNSEEN.DISCOVER with one URL each, then leases and
 * acknowledgements of a thousand URLs. Next to it, the same over HTTP, with a thousand URLs per request.
 */
export async function crawlRows(
  prefix: string,
  client: BenchRespClient,
  service: Service,
  options: BenchOptions,
  workers: Workers,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [way, discover, drain] of [
    ['UNSEEN', discoverByCommands(client), (_: QueueClient, name: string) => drainByCommands(client, name)],
    ['http', discoverByLines, (set: QueueClient) => set.drain(BATCH, 1)],
  ] as const) {
    const [discoveries, drains]: [Measured[], Measured[]] = [[], []];
    const urls = options.quick ? URLS / 10 : URLS;
    for (let round = 0; round < (options.quick ? 1 : ROUNDS); round++) {
      const name = `crawl-${way}-${round}`;
      const set = new QueueClient(service.port, name, 1);
      await set.create(URLS, ERROR_RATE);
      const found: number[] = [];
      discoveries.push(
        await measured(workers, urls, async () => {
          for (let from = 0; from < urls; from += BATCH) found.push(await discover(set, name, from));
        }),
      );
      const queued = found.reduce((sum, one) => sum + one, 0);
      assertSetUp(queued > 0.99 * urls, `${queued} of ${urls} URLs are new`);
      let done = 0;
      drains.push(
        await measured(workers, queued, async () => {
          done = await drain(set, name);
        }),
      );
      assertSetUp(done === queued, `${done} of ${queued} URLs are leased and acknowledged`);
      await set.drop();
      set.close();
    }
    rows.push({ name: `${prefix}-${way}-discover`, ...summary(discoveries) });
    rows.push({ name: `${prefix}-${way}-lease-ack-1000`, ...summary(drains) });
  }
  return rows;
}

function urlsFrom(from: number): string[] {
  return Array.from({ length: BATCH }, (_, i) => urlAt(from + i));
}

/** Discovers a batch of URLs, one per command. Returns how many are new. */
function discoverByCommands(client: BenchRespClient) {
  return async (_: QueueClient, name: string, from: number): Promise<number> => {
    const commands = urlsFrom(from).map((url) => respCommand('UNSEEN.DISCOVER', name, 'URLS', url));
    const replies = await client.replies(Buffer.concat(commands), BATCH);
    return replies.split('new').length - 1;
  };
}

async function discoverByLines(set: QueueClient, _: string, from: number): Promise<number> {
  const { new: found = 0 } = await set.stream('discover', Buffer.from(urlsFrom(from).join('\n')));
  return found;
}

async function drainByCommands(client: BenchRespClient, name: string): Promise<number> {
  const lease = respCommand('UNSEEN.LEASE', name, 'MAX', String(BATCH), 'SECONDS', '3600');
  let done = 0;
  for (;;) {
    const leased = await client.replies(lease, 1);
    const ids = [...leased.matchAll(/\$2\r\nid\r\n\$\d+\r\n([^\r]+)/g)].map(([, id = '']) => id);
    if (ids.length === 0) return done;
    const acked = await client.replies(respCommand('UNSEEN.ACK', name, 'IDS', ...ids), 1);
    done += acked.split('acked').length - 1;
  }
}
