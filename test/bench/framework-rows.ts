import { BareServer } from './bare-server.js';
import { FilterClient } from './filter-client.js';
import { LoadClient, rawPost } from './load-client.js';
import { measured, summary, type Measured } from './measured.js';
import { assertSetUp, atMost, type BenchOptions, type Group, type Row } from './row.js';
import { withService, type Service } from './service.js';
import { median } from './statistics.js';
import { warmUp } from './warm-up.js';
import { jsonBody } from './workload.js';

const NAME = 'frameworks';
const PATH = `/v1/filters/${NAME}/items/check`;
const CAPACITY = 100_000;
const ERROR_RATE = 1e-2;
const ITEMS = 10_000;
const WIDTH = 8;
const ROUNDS = 15;
const MOST_AGAINST_FASTIFY = 1.6;

/** Headers that Node or Fastify set themselves. */
const NOT_OURS = new Set(['date', 'connection', 'keep-alive', 'content-length']);

/**
 * Checking one item, compared with the same response from Fastify and from Node's server alone, with eight calls in
 * flight. Rounds of the three alternate, and ratios are medians over rounds, because a machine's speed varies.
 */
export const frameworkGroup: Group = {
  name: 'frameworks',
  measure: (options) =>
    withService({ profileDir: options.profileDir }, async (service) => {
      await fill(service);
      const headers = await answerHeaders(service);
      const servers = [
        await BareServer.start('fastify', { path: PATH, headers }),
        await BareServer.start('http', { path: PATH, headers }),
      ];
      try {
        return await rowsOf(options, [service, ...servers]);
      } finally {
        for (const server of servers) await server.stop();
      }
    }),
};

/** A process that responds to checks, like the service. */
type Answerer = Pick<Service, 'port' | 'pid'>;

const ROWS = ['frameworks/check-1-unseen', 'frameworks/check-1-fastify', 'frameworks/check-1-http'] as const;

async function rowsOf(options: BenchOptions, servers: readonly Answerer[]): Promise<Row[]> {
  const posts = Array.from({ length: ITEMS }, (_, i) => rawPost(PATH, jsonBody(i, 1)));
  const clients = await Promise.all(servers.map(({ port }) => LoadClient.open(port, WIDTH, posts)));
  const rounds: Measured[][] = servers.map(() => []);
  const seconds = options.quick ? options.seconds : options.seconds / 3;
  const each = async (keep: boolean): Promise<void> => {
    for (const [i, client] of clients.entries()) {
      const round = await checkRound(client, (servers[i] as Answerer).pid, seconds);
      if (keep) rounds[i]?.push(round);
    }
  };
  try {
    await warmUp(options, () => each(false));
    for (let round = 0; round < (options.quick ? 1 : ROUNDS); round++) await each(true);
  } finally {
    for (const client of clients) client.close();
  }
  const [unseen = [], fastify = [], http = []] = rounds;
  const ratio = ratioOf(unseen, fastify);
  return [
    {
      name: ROWS[0],
      ...summary(unseen),
      ratio: { value: ratio, against: ROWS[1] },
      targets: [atMost('CPU relative to bare Fastify', ratio, MOST_AGAINST_FASTIFY, '×')],
    },
    { name: ROWS[1], ...summary(fastify), ratio: { value: ratioOf(fastify, http), against: ROWS[2] } },
    { name: ROWS[2], ...summary(http) },
  ];
}

async function checkRound(client: LoadClient, servicePid: number, seconds: number): Promise<Measured> {
  let calls = 0;
  const round = await measured({ servicePid }, 0, async () => {
    const { outcomes } = await client.closedLoop(WIDTH, seconds);
    const failed = outcomes.find(({ status }) => status !== 200);
    assertSetUp(failed === undefined, `every call is answered 200, not ${failed?.status}`);
    calls = outcomes.length;
  });
  return { ...round, items: calls };
}

function ratioOf(rounds: readonly Measured[], against: readonly Measured[]): number {
  const perCall = ({ cpu, items }: Measured) => (cpu.service ?? NaN) / items;
  return median(rounds.map((round, i) => perCall(round) / perCall(against[i] as Measured)));
}

async function fill({ port }: Service): Promise<void> {
  const filter = new FilterClient(port, NAME, 1);
  await filter.create(CAPACITY, ERROR_RATE);
  await filter.fill(0, ITEMS);
  filter.close();
}

/** The service's response headers, which the others must also send. */
async function answerHeaders({ port }: Service): Promise<Record<string, string>> {
  const answer = await fetch(`http://127.0.0.1:${port}${PATH}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: new Uint8Array(jsonBody(0, 1)),
  });
  const text = await answer.text();
  assertSetUp(text === '{"results":[true]}', `a check of one item answers that it is there, not ${text}`);
  return Object.fromEntries([...answer.headers].filter(([name]) => !NOT_OURS.has(name)));
}
