import { HttpClient } from './http-client.js';
import { measured, summary, type Measured, type Workers } from './measured.js';
import { onBothStores } from './both-stores.js';
import { assertSetUp, totalCpu, type BenchOptions, type Group, type Row } from './row.js';
import { linesOf } from './workload.js';

const NAME = 'looked-into';
const CAPACITY = 1_000_000;
const URLS = 100;
const [ROUNDS, CALLS] = [5, 100];

/** A call that inspects a set, with its body, if any. */
interface Look {
  readonly name: string;
  readonly path: string;
  readonly body?: Buffer;
}

/** The dashboard's cost: inspecting a visited set, compared with checking as many URLs as it explains. */
export const inspectionGroup: Group = {
  name: 'inspection',
  measure: (options) => onBothStores(options, rowsOf),
};

async function rowsOf(store: string, port: number, workers: Workers, options: BenchOptions): Promise<Row[]> {
  const http = new HttpClient(port, 1);
  const lines = linesOf(options.file);
  const set = `/v1/visited-sets/${NAME}`;
  const { status } = await http.post(
    '/v1/visited-sets',
    Buffer.from(JSON.stringify({ name: NAME, capacity: CAPACITY })),
  );
  assertSetUp(status === 201, 'the set is re-created');
  await http.post(`${set}/urls/visit?results=none`, Buffer.from(lines.join('\n')), 'text/plain');
  const body = Buffer.from(JSON.stringify({ urls: lines.slice(0, URLS) }));
  const looks: readonly Look[] = [
    { name: `check-${URLS}`, path: `${set}/urls/check`, body },
    { name: `explain-${URLS}`, path: `${set}/urls/explain`, body },
    { name: 'counters', path: `${set}/counters` },
    { name: 'history', path: `${set}/history` },
    { name: 'describe', path: set },
    { name: 'list', path: '/v1/visited-sets?limit=100' },
  ];
  const calls = options.quick ? CALLS / 10 : CALLS;
  const rounds = new Map<string, Measured[]>(looks.map(({ name }) => [name, []]));
  // Runs all alternately, so that slow phases of the machine affect all equally. The first round warms up.
  for (let round = 0; round <= (options.quick ? 1 : ROUNDS); round++) {
    for (const look of looks) {
      const one = await measured(workers, calls, async () => {
        for (let call = 0; call < calls; call++) await ask(http, look);
      });
      if (round > 0) rounds.get(look.name)?.push(one);
    }
  }
  http.close();
  const rows = looks.map(({ name }) => ({
    name: `${store}/look-${name}`,
    ...summary(rounds.get(name) as Measured[]),
  }));
  const [check] = rows;
  return rows.map((row) => ({
    ...row,
    ...(check && row !== check && { ratio: { value: cost(row) / cost(check), against: check.name } }),
  }));
}

/** The CPU of the service and its store, without the client's. */
function cost({ cpu }: Pick<Row, 'cpu'>): number {
  return totalCpu({ ...cpu, client: 0 });
}

async function ask(http: HttpClient, { path, body }: Look): Promise<void> {
  const { status, text } = body ? await http.post(path, body) : await http.get(path);
  assertSetUp(status === 200, `${path} is answered: ${status} ${text.slice(0, 200)}`);
}
