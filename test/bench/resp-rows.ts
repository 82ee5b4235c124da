import { freePort } from '../support/redis-server.js';
import { respCommand } from '../support/resp-client.js';
import { FilterClient } from './filter-client.js';
import { HttpClient } from './http-client.js';
import { measured, summary, type Measured, type Workers } from './measured.js';
import { RedisInstance, redisVersion } from './redis-instance.js';
import { BenchRespClient } from './resp-client.js';
import { crawlRows } from './resp-crawl-rows.js';
import { assertSetUp, atLeast, atMost, type BenchOptions, type Group, type Row } from './row.js';
import { withService, type Service } from './service.js';
import { latencyOf } from './statistics.js';
import { BATCH, jsonBodies, urlAt } from './workload.js';

const CAPACITY = 10_000_000;
const ITEMS = 200_000;
const ROUNDS = 5;
const SINGLES = 5_000;

/** A round's commands in order, each with its reply. In the end, they leave the filter empty. */
const CASES = [
  { command: 'CF.ADD', filter: 'counts', hits: true },
  { command: 'CF.EXISTS', filter: 'counts', hits: true },
  { command: 'CF.ADDNX', filter: 'counts', hits: false },
  { command: 'CF.DEL', filter: 'counts', hits: true },
  { command: 'SADD', filter: 'members', hits: true },
  { command: 'SISMEMBER', filter: 'members', hits: true },
  { command: 'SREM', filter: 'members', hits: true },
] as const;

/** The commands that a Redis set also has. */
const OF_REDIS = ['SADD', 'SISMEMBER', 'SREM'];

/**
 * Measures the Redis protocol, with commands in pipelines of 1,000 and one at a time, next to the same checks in HTTP
 * batches and a set in Redis.
 */
export const respGroup: Group = {
  name: 'resp',
  async measure(options) {
    const rows = await onStore('embedded', options, {});
    if (redisVersion() === undefined) {
      console.error('  skipped: redis-server is missing; run npm run redis:ensure');
      return rows;
    }
    const redis = await RedisInstance.start();
    try {
      const workers = { serverMicros: () => redis.cpuMicros() };
      rows.push(...(await onStore('redis', options, { REDIS_URL: redis.url }, workers)));
      const { port } = new URL(redis.url);
      const client = await BenchRespClient.connect(Number(port));
      for (const one of CASES.filter(({ command }) => OF_REDIS.includes(command)))
        rows.push(await pipelineRow(`resp/redis-set-${one.command}`, client, one, options, workers));
      client.close();
    } finally {
      await redis.stop();
    }
    return rows;
  },
};

async function onStore(
  store: string,
  options: BenchOptions,
  env: Readonly<Record<string, string>>,
  redis: Workers = {},
): Promise<Row[]> {
  const respPort = await freePort();
  const { profileDir } = options;
  return withService({ env: { ...env, RESP_PORT: String(respPort) }, profileDir }, async (service) => {
    const workers = { ...redis, servicePid: service.pid };
    const client = await BenchRespClient.connect(respPort);
    await client.ok('CF.RESERVE', 'counts', String(CAPACITY), 'EXPANSION', '0');
    await createSet(service);
    const rows: Row[] = [];
    for (const one of CASES)
      rows.push(await pipelineRow(`resp/${store}-${one.command}`, client, one, options, workers, store));
    rows.push(await singleRow(`resp/${store}-CF.EXISTS-single`, client, options, workers));
    rows.push(await httpRow(`resp/${store}-http-batch-check`, service, options, workers));
    rows.push(...(await crawlRows(`resp/${store}`, client, service, options, workers)));
    client.close();
    return rows;
  });
}

async function createSet(service: Service): Promise<void> {
  const http = new HttpClient(service.port, 1);
  const body = { name: 'members', type: 'counting', capacity: CAPACITY, errorRate: 0.01 };
  const { status } = await http.post('/v1/filters', Buffer.from(JSON.stringify(body)));
  assertSetUp(status === 201, 'the set is created');
  http.close();
}

const itemsOf = ({ quick }: BenchOptions): number => (quick ? ITEMS / 10 : ITEMS);

async function pipelineRow(
  name: string,
  client: BenchRespClient,
  { command, filter, hits }: (typeof CASES)[number],
  options: BenchOptions,
  workers: Workers,
  store?: string,
): Promise<Row> {
  const items = itemsOf(options);
  const rounds: Measured[] = [];
  for (let round = 0; round < (options.quick ? 1 : ROUNDS); round++) {
    // Each round has its own items, so that commands have the same effect in each round.
    const pipelines = Array.from({ length: items / BATCH }, (_, b) =>
      Buffer.concat(
        Array.from({ length: BATCH }, (_, i) =>
          respCommand(command, filter, urlAt(round * items + b * BATCH + i)),
        ),
      ),
    );
    let ones = 0;
    rounds.push(
      await measured(workers, items, async () => {
        for (const commands of pipelines) ones += await client.send(commands, BATCH);
      }),
    );
    // New items are sometimes false positives.
    const isRight = hits ? ones > items * 0.95 : ones === 0;
    assertSetUp(isRight, `${command} answers ${ones} of ${items}`);
  }
  const { itemsPerSecond, cpu, ...rest } = summary(rounds);
  const least = store === 'embedded' ? 200_000 : 100_000;
  const targets =
    store === undefined
      ? []
      : [
          atMost('service CPU of one command', cpu.service ?? NaN, 5, 'µs'),
          atLeast('commands', itemsPerSecond, least, '/s'),
        ];
  return { name, itemsPerSecond, cpu, ...rest, targets };
}

/** One command at a time on one connection. */
async function singleRow(
  name: string,
  client: BenchRespClient,
  options: BenchOptions,
  workers: Workers,
): Promise<Row> {
  const count = options.quick ? SINGLES / 10 : SINGLES;
  const commands = Array.from({ length: count }, (_, i) => respCommand('CF.EXISTS', 'counts', urlAt(i)));
  const times: number[] = [];
  const round = await measured(workers, count, async () => {
    for (const command of commands) {
      const from = performance.now();
      await client.send(command, 1);
      times.push(performance.now() - from);
    }
  });
  const { cpu, ...rest } = summary([round]);
  const latency = latencyOf(times);
  const targets = [
    atMost('service CPU of one command', cpu.service ?? NaN, 40, 'µs'),
    atMost('p50 of one command', latency.p50, 0.1, 'ms'),
  ];
  return { name, cpu, ...rest, latency, targets };
}

/** The same checks in HTTP batches, one at a time. */
async function httpRow(
  name: string,
  service: Service,
  options: BenchOptions,
  workers: Workers,
): Promise<Row> {
  const items = itemsOf(options);
  const filter = new FilterClient(service.port, 'counts', 1);
  const bodies = jsonBodies(0, items);
  const rounds: Measured[] = [];
  for (let round = 0; round < (options.quick ? 1 : ROUNDS); round++)
    rounds.push(await measured(workers, items, () => filter.batches('check', bodies)));
  filter.close();
  return { name, ...summary(rounds) };
}
