import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { measured, summary, type Measured, type Workers } from './measured.js';
import { BullQueue } from './peers/bull-queue.js';
import { ListQueue } from './peers/list-queue.js';
import { QueueClient, type UrlVerb } from './queue-client.js';
import { realStream } from './real-stream.js';
import { RedisInstance, redisVersion } from './redis-instance.js';
import { assertSetUp, atLeast, atMost, totalCpu, type BenchOptions, type Group, type Row } from './row.js';
import { withService } from './service.js';
import { warmUp } from './warm-up.js';

const URLS = 1_000_000;
const QUICK_URLS = 20_000;
const ERROR_RATE = 1e-3;
const ROUNDS = 3;
/** From this many URLs on, a round takes minutes. */
const ONE_ROUND_FROM = 5_000_000;
const BATCH = 1_000;
/** Forgets one in this many URLs while the queue is full. */
const FORGOTTEN_OF = 10;
const SINGLES = 2_000;
/** URLs of a warm-up round. Ten rounds have about 4,000 batches. */
const WARM_URLS = 100_000;
const WARM_ROUNDS = 10;
/** URLs whose leases time out. All are leased within LOST_SECONDS. */
const LOST_URLS = 100_000;
const LOST_SECONDS = 5;
/** Concurrent workers. */
const WORKERS = 8;
const LARGE_WORKERS = 2;
/** BullMQ gets one in BULL_PART URLs, and at most BULL_MOST. */
const BULL_PART = 10;
const BULL_MOST = 100_000;
/** The service's and Redis' CPU, relative to `visit` in the same run. */
const MOST_AGAINST_VISIT = 1.3;
/** Bytes of a queued URL in addition to its own. */
const MOST_BYTES_BESIDE = 48;

/** The cost of a queue: the same URLs visited, discovered, forgotten, leased and acknowledged. */
export const queueGroup: Group = {
  name: 'queue',
  async measure(options) {
    const work = workOf(options);
    const rows: Row[] = [];
    const bytes = await bytesBeside(work, (verb) => fileBytes(work, verb));
    await withService({ profileDir: options.profileDir }, async ({ port, pid }) => {
      rows.push(...(await rowsOf('embedded', port, { servicePid: pid }, bytes, work, options)));
    });
    if (redisVersion() === undefined) {
      console.error('  Redis is skipped: redis-server is missing; run npm run redis:ensure');
      return rows;
    }
    const redis = await RedisInstance.start();
    try {
      const serverMicros = (): Promise<number> => redis.cpuMicros();
      await withService(
        { env: { REDIS_URL: redis.url }, profileDir: options.profileDir },
        async (service) => {
          const workers = { servicePid: service.pid, serverMicros };
          const bytes = await bytesBeside(work, (verb) => redisBytes(redis, service.port, work, verb));
          rows.push(...(await rowsOf('redis', service.port, workers, bytes, work, options)));
        },
      );
      rows.push(...(await listRows(redis, work)), ...(await bullRows(redis, work)));
    } finally {
      await redis.stop();
    }
    return rows;
  },
};

interface Work {
  /** In order of arrival, many of them more than once. */
  readonly urls: readonly string[];
  readonly distinct: readonly string[];
  readonly rounds: number;
}

function workOf({ quick, size }: BenchOptions): Work {
  const { urls } = realStream();
  const count = quick ? QUICK_URLS : (size ?? URLS);
  // Extends the stream with the same URLs on other hosts.
  const all = Array.from({ length: count }, (_, i) => {
    const url = urls[i % urls.length] as string;
    const round = Math.floor(i / urls.length);
    return round === 0 ? url : `${url}?mirror=${round}`;
  });
  return { urls: all, distinct: [...new Set(all)], rounds: quick || count >= ONE_ROUND_FROM ? 1 : ROUNDS };
}

/** How many bytes a queued URL takes, besides the URL itself and the cost of visiting it. */
async function bytesBeside({ distinct }: Work, bytesOf: (verb: UrlVerb) => Promise<number>): Promise<number> {
  const averageUrl = distinct.reduce((sum, url) => sum + Buffer.byteLength(url), 0) / distinct.length;
  return ((await bytesOf('discover')) - (await bytesOf('visit'))) / distinct.length - averageUrl;
}

/** The data file's size after a service that did nothing else has stopped. */
async function fileBytes({ urls, distinct }: Work, verb: UrlVerb): Promise<number> {
  const dataDir = await mkdtemp(join(tmpdir(), 'unseen-bench-queue-'));
  try {
    await withService({ dataDir }, async ({ port }) => {
      const set = new QueueClient(port, 'bytes', 1);
      await set.create(distinct.length, ERROR_RATE);
      await set.stream(verb, linesOf(urls));
      set.close();
    });
    return (await stat(join(dataDir, 'data.mdb'))).size;
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function redisBytes(
  redis: RedisInstance,
  port: number,
  { urls, distinct }: Work,
  verb: UrlVerb,
): Promise<number> {
  const set = new QueueClient(port, `bytes-${verb}`, 1);
  await set.create(distinct.length, ERROR_RATE);
  const before = await redis.usedMemory();
  await set.stream(verb, linesOf(urls));
  const after = await redis.usedMemory();
  await set.clear();
  set.close();
  return after - before;
}

async function rowsOf(
  store: string,
  port: number,
  workers: Workers,
  beside: number,
  { urls, distinct, rounds }: Work,
  options: BenchOptions,
): Promise<Row[]> {
  const set = new QueueClient(port, `queue-${store}`, 8);
  await set.create(distinct.length, ERROR_RATE);
  const some = distinct.filter((_, i) => i % FORGOTTEN_OF === 0);
  const times: Record<string, Measured[]> = {};
  const time = async (row: string, items: number, work: () => Promise<unknown>): Promise<void> => {
    (times[row] ??= []).push(await measured(workers, items, work));
  };
  // A client also builds the body.
  const stream = (row: string, verb: UrlVerb, sent: readonly string[]): Promise<void> =>
    time(row, sent.length, () => set.stream(verb, linesOf(sent)));
  const few = urls.slice(0, WARM_URLS);
  await warmUp(
    options,
    async () => {
      await set.stream('visit', linesOf(few));
      await set.stream('forget', linesOf(few));
      await set.stream('discover', linesOf(few));
      await set.stream('forget', linesOf(few.slice(0, WARM_URLS / 2)));
      await set.singles('check', few.slice(0, 500), WORKERS);
      await set.work(500, 1, WORKERS);
      await set.drain(BATCH, LARGE_WORKERS);
      await set.clear();
    },
    WARM_ROUNDS,
  );
  for (let round = 0; round < rounds; round++) {
    await set.clear();
    await stream('visit', 'visit', urls);
    await stream('forget-no-queue', 'forget', some);
    await stream('visit-again', 'visit', some);
    await set.clear();
    await stream('discover', 'discover', urls);
    await stream('discover-seen', 'discover', urls);
    await stream('forget', 'forget', some);
    const singles = Math.min(SINGLES, distinct.length / 10);
    await time('check-1', singles, () => set.singles('check', distinct.slice(0, singles), WORKERS));
    await time('lease-ack-1', singles, () => set.work(singles, 1, WORKERS));
    // Approximate, because of the filter's false positives.
    const left = Math.round(distinct.length * (1 - 1 / FORGOTTEN_OF) - singles);
    await time('lease-ack-1000', left, async () => {
      const done = await set.drain(BATCH, LARGE_WORKERS);
      assertSetUp(Math.abs(done - left) < 0.02 * left, `${done} of ${left} URLs are leased and acknowledged`);
    });
    const lost = distinct.slice(0, LOST_URLS);
    await set.clear();
    await set.stream('discover', linesOf(lost));
    for (let leased = 0; leased < lost.length; leased += BATCH)
      await set.lease(BATCH, { leaseSeconds: LOST_SECONDS });
    await sleep(LOST_SECONDS * 1_000);
    await time('lease-back-ack-1000', lost.length, async () => {
      const done = await set.drain(BATCH, LARGE_WORKERS);
      assertSetUp(done > 0.98 * lost.length, `${done} of ${lost.length} URLs came back`);
    });
  }
  set.close();
  const of = (row: string): Row & ReturnType<typeof summary> => ({
    name: `${store}/queue-${row}`,
    ...summary(times[row] ?? []),
  });
  const visit = of('visit');
  const served = ({ cpu }: Row): number => totalCpu({ ...cpu, client: 0 });
  const against = (row: string, base: Row, what: string): Row => {
    const found = of(row);
    const value = served(found) / served(base);
    const targets = [atMost(what, value, MOST_AGAINST_VISIT, 'x')];
    return { ...found, ratio: { value, against: base.name }, targets };
  };
  // The same URLs, all new to the set.
  const again = of('visit-again');
  const discover = against('discover', visit, 'CPU relative to visit');
  const check = of('check-1');
  const one = of('lease-ack-1');
  const thousand = of('lease-ack-1000');
  const back = of('lease-back-ack-1000');
  const fastest = store === 'embedded' ? 200_000 : 100_000;
  return [
    visit,
    {
      ...discover,
      figures: [{ name: 'bytes per URL besides the URL itself', value: beside, unit: 'B' }],
      targets: [
        ...(discover.targets ?? []),
        atMost('bytes per URL besides the URL itself', beside, MOST_BYTES_BESIDE, 'B'),
        ...(store === 'embedded' ? [atLeast('URLs', discover.itemsPerSecond ?? 0, 400_000, '/s')] : []),
      ],
    },
    of('discover-seen'),
    again,
    against('forget-no-queue', again, 'CPU relative to visit, queue empty'),
    against('forget', again, 'CPU relative to visit, queue full'),
    { ...thousand, targets: [atLeast('URLs', thousand.itemsPerSecond, fastest, '/s')] },
    { ...back, ratio: { value: served(back) / served(thousand), against: thousand.name } },
    check,
    {
      ...one,
      targets: [atLeast('relative to check of one', one.itemsPerSecond / check.itemsPerSecond, 0.5, 'x')],
    },
  ];
}

/** The most common alternative: a set of known URLs and a list of waiting URLs. */
async function listRows(redis: RedisInstance, { urls, rounds }: Work): Promise<Row[]> {
  const queue = new ListQueue(redis.client);
  const discovers: Measured[] = [];
  const works: Measured[] = [];
  const workers = { serverMicros: () => redis.cpuMicros() };
  for (let round = 0; round < rounds; round++) {
    await queue.reset();
    discovers.push(await measured(workers, urls.length, () => queue.discover(urls, BATCH)));
    const waiting = await queue.length();
    works.push(
      await measured(workers, waiting, async () => {
        while ((await queue.work(BATCH)) > 0);
      }),
    );
  }
  await queue.reset();
  return [
    { name: 'peer/redis-list-and-set-discover', ...summary(discovers) },
    { name: 'peer/redis-list-and-set-work-1000', ...summary(works) },
  ];
}

/** A job queue that does more than needed here, with at most a tenth of the URLs. */
async function bullRows(redis: RedisInstance, { urls, rounds }: Work): Promise<Row[]> {
  const queue = new BullQueue(redis.client);
  const some = urls.slice(0, Math.min(BULL_MOST, urls.length / BULL_PART));
  const discovers: Measured[] = [];
  const works: Measured[] = [];
  const workers = { serverMicros: () => redis.cpuMicros() };
  try {
    for (let round = 0; round < rounds; round++) {
      discovers.push(await measured(workers, some.length, () => queue.discover(some, BATCH)));
      const waiting = await queue.waiting();
      assertSetUp(waiting > 0, 'BullMQ has jobs waiting');
      works.push(await measured(workers, waiting, () => queue.work(waiting)));
      await queue.reset();
    }
  } finally {
    await queue.close();
  }
  return [
    { name: 'peer/bullmq-discover', ...summary(discovers) },
    { name: 'peer/bullmq-work', ...summary(works) },
  ];
}

function linesOf(urls: readonly string[]): Buffer {
  return Buffer.from(`${urls.join('\n')}\n`);
}
