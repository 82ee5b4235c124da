import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { HttpClient } from './http-client.js';
import { LoadClient, rawPost } from './load-client.js';
import { cpuMicros } from './process-usage.js';
import { assertSetUp, type BenchOptions, type Group, type Row } from './row.js';
import { Service } from './service.js';
import { median } from './statistics.js';
import { warmUp } from './warm-up.js';

const ROUNDS = 9;
const IN_FLIGHT = 32;
const REQUESTS = 10_000;
const SETS = '/v1/visited-sets';

/** What the service samples. The first case sends no traces. */
const CASES = [
  { name: 'off' },
  { name: 'no request', ratio: '0' },
  { name: '1 % of requests', ratio: '0.01' },
  { name: 'all requests', ratio: '1' },
] as const;

const WORK = [
  { name: 'check-1', urls: 1 },
  { name: 'check-1000', urls: 1_000 },
] as const;

/** The cost of traces for requests with one URL and with many. The collector runs in this process. */
export const traceGroup: Group = {
  name: 'traces',
  async measure(options) {
    const collector = createServer((request, response) => request.resume().on('end', () => response.end()));
    collector.listen(0, '127.0.0.1');
    await once(collector, 'listening');
    const { port } = collector.address() as AddressInfo;
    const services: Service[] = [];
    try {
      for (const each of CASES) {
        const ratio = 'ratio' in each ? each.ratio : undefined;
        const env = ratio !== undefined && {
          OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
          OTEL_TRACES_SAMPLER: 'traceidratio',
          OTEL_TRACES_SAMPLER_ARG: ratio,
        };
        services.push(await Service.start({ env: { AUTH: 'none', ...env } }));
      }
      const rows: Row[] = [];
      for (const work of WORK) rows.push(await compare(services, work, options));
      return rows;
    } finally {
      await Promise.all(services.map((service) => service.stop()));
      collector.close();
      collector.closeAllConnections();
    }
  },
};

/** Alternates rounds of all services, so that slow phases of the machine affect them equally. */
async function compare(
  services: readonly Service[],
  { name, urls }: (typeof WORK)[number],
  { quick, seconds, ...options }: BenchOptions,
): Promise<Row> {
  const each = quick ? 0.2 : seconds / ROUNDS;
  const count = Math.ceil(REQUESTS / urls);
  const url = (n: number): string => `https://example.org/${n}`;
  const posts = Array.from({ length: count }, (_, call) =>
    rawPost(
      `${SETS}/${name}/urls/check`,
      Buffer.from(JSON.stringify({ urls: Array.from({ length: urls }, (__, n) => url(call * urls + n)) })),
    ),
  );
  const clients = await Promise.all(services.map(({ port }) => clientOf(port, name, posts)));
  const micros: number[][] = services.map(() => []);
  try {
    for (const client of clients) await warmUp(options, () => client.closedLoop(IN_FLIGHT, each));
    for (let round = 0; round < (quick ? 1 : ROUNDS); round++) {
      for (const [n, client] of clients.entries()) {
        const { pid } = services[n] as Service;
        const before = cpuMicros(pid);
        const { outcomes } = await client.closedLoop(IN_FLIGHT, each);
        const failed = outcomes.find(({ status }) => status !== 200);
        assertSetUp(failed === undefined, `every call is answered 200, not ${failed?.status}`);
        micros[n]?.push((cpuMicros(pid) - before) / outcomes.length);
      }
    }
  } finally {
    for (const client of clients) client.close();
  }
  const [off = NaN, ...on] = micros.map(median);
  const [first, ...others] = CASES;
  return {
    name: `traces/${name}`,
    figures: [
      { name: first.name, value: off, unit: 'µs of CPU' },
      ...others.map((one, n) => ({ name: one.name, value: (on[n] ?? NaN) - off, unit: 'µs more' })),
    ],
  };
}

async function clientOf(port: number, name: string, posts: readonly Buffer[]): Promise<LoadClient> {
  const client = new HttpClient(port, 1);
  await client.post(SETS, Buffer.from(JSON.stringify({ name, capacity: 100_000 })));
  client.close();
  return LoadClient.open(port, IN_FLIGHT, posts);
}
