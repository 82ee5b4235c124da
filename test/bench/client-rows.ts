import { resumeList, UnseenClient, type VisitedSet } from '#client';
import { onBothStores } from './both-stores.js';
import { HttpClient, inFlight } from './http-client.js';
import { measured, summary, type Measured, type Workers } from './measured.js';
import { realStream } from './real-stream.js';
import {
  assertSetUp,
  atLeast,
  atMost,
  totalCpu,
  type BenchOptions,
  type CpuPerItem,
  type Group,
  type Row,
} from './row.js';

const ROUNDS = 5;
const CALLERS = 64;
const CHECKS = 40_000;
const LINES = 500_000;
const MOST_CPU = 0.2;
const LEAST_SPEED = 0.9;
const MOST_CHECKPOINT_CPU = 1.25;

/**
 * The TypeScript client. It sends concurrent checks of one URL each, joined into batches by the client or alone as
 * arrays of one. It also sends a list of real URLs, plain and with checkpoints. For comparison, the same list is sent
 * as one streamed body whose results are all read.
 */
export const clientGroup: Group = {
  name: 'client',
  measure: (options) => onBothStores(options, rowsOf),
};

async function rowsOf(store: string, port: number, workers: Workers, options: BenchOptions): Promise<Row[]> {
  const client = new UnseenClient({ url: `http://127.0.0.1:${port}` });
  const { urls } = realStream();
  return [
    ...(await checkRows(store, client, urls, workers, options)),
    ...(await listRows(store, client, port, urls, workers, options)),
  ];
}

async function checkRows(
  store: string,
  client: UnseenClient,
  urls: readonly string[],
  workers: Workers,
  { quick }: BenchOptions,
): Promise<Row[]> {
  const checks = quick ? CHECKS / 10 : CHECKS;
  const set = await made(client, 'client-checks', checks);
  await set.visit(urls.slice(0, checks));
  const check = {
    alone: async (url: string) => (await set.check([url]))[0],
    joined: (url: string) => set.check(url),
  };
  const rounds: Record<keyof typeof check, Measured[]> = { alone: [], joined: [] };
  // The first round warms up.
  for (let round = 0; round <= (quick ? 1 : ROUNDS); round++) {
    for (const how of ['alone', 'joined'] as const) {
      let seen = 0;
      const work = () =>
        inFlight(CALLERS, checks, async (i) => {
          if ((await check[how](urls[i] as string)) === 'seen') seen++;
        });
      const found = await measured(workers, checks, work);
      assertSetUp(seen > 0.9 * checks, `${how}: ${seen} of ${checks} are seen`);
      if (round > 0) rounds[how].push(found);
    }
  }
  const alone = { name: `client-${store}/check-alone`, ...summary(rounds.alone) };
  const joined = { name: `client-${store}/check-joined`, ...summary(rounds.joined) };
  const times = ofService(joined.cpu) / ofService(alone.cpu);
  const target = atMost('CPU of the service relative to calls alone', times, MOST_CPU, '×');
  return [alone, { ...joined, ratio: { value: times, against: alone.name }, targets: [target] }];
}

async function listRows(
  store: string,
  client: UnseenClient,
  port: number,
  urls: readonly string[],
  workers: Workers,
  { quick }: BenchOptions,
): Promise<Row[]> {
  const lines = urls.slice(0, quick ? LINES / 10 : LINES);
  const text = Buffer.from(`${lines.join('\n')}\n`);
  const set = await made(client, 'client-lists', lines.length);
  const http = new HttpClient(port, 1);
  const visit = {
    stream: async () => {
      const { text: answer } = await http.post(`/v1/visited-sets/${set.name}/urls/visit`, text, 'text/plain');
      return answer.split('"new"').length - 1;
    },
    list: async () => {
      let fresh = 0;
      for await (const { results } of set.visit(lines.values()).blocks()) {
        for (const result of results) if (result === 'new') fresh++;
      }
      return fresh;
    },
    resumable: async () => {
      const { counts } = await resumeList(set.visit, lines, {
        save: (checkpoint) => JSON.stringify(checkpoint),
      });
      return counts.new ?? 0;
    },
  };
  const rounds: Record<keyof typeof visit, Measured[]> = { stream: [], list: [], resumable: [] };
  const different = new Set(lines).size;
  for (let round = 0; round <= (quick ? 1 : ROUNDS); round++) {
    for (const how of ['stream', 'list', 'resumable'] as const) {
      await set.clear();
      let fresh = 0;
      const work = async () => {
        fresh = await visit[how]();
      };
      const found = await measured(workers, lines.length, work);
      assertSetUp(fresh > 0.9 * different && fresh <= different, `${how}: ${fresh} of ${different} are new`);
      if (round > 0) rounds[how].push(found);
    }
  }
  http.close();
  const stream = { name: `client-${store}/visit-stream`, ...summary(rounds.stream) };
  const list = { name: `client-${store}/visit-list`, ...summary(rounds.list) };
  const times = list.itemsPerSecond / stream.itemsPerSecond;
  const resumable = { name: `client-${store}/visit-resumable`, ...summary(rounds.resumable) };
  const cpu = totalCpu(resumable.cpu) / totalCpu(list.cpu);
  return [
    stream,
    { ...list, targets: [atLeast('speed relative to one stream', times, LEAST_SPEED, '×')] },
    {
      ...resumable,
      ratio: { value: cpu, against: list.name },
      targets: [atMost('CPU relative to a plain list', cpu, MOST_CHECKPOINT_CPU, '×')],
    },
  ];
}

async function made(client: UnseenClient, name: string, capacity: number): Promise<VisitedSet> {
  const set = client.visitedSet(name);
  await set.create({ capacity });
  return set;
}

/** Excludes the client's CPU. */
function ofService({ service = 0, server = 0 }: CpuPerItem): number {
  return service + server;
}
