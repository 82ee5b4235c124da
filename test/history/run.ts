import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../support/random.js';
import { Answers } from './answers.js';
import { Client, noRecords, type Shared } from './client.js';
import type { Answer, Attempt, Description, History, Operation, Subject } from './history.js';
import type { Fault } from './attempt.js';
import { Http } from './http.js';
import { ITEMS } from './items-protocol.js';
import { disturb } from './nemesis.js';
import { QueueRun } from './queue-run.js';
import type { System } from './system.js';
import { SyncedRun } from './syncs/synced-run.js';
import { untilAnswered } from './until-answered.js';
import { Workload } from './workload.js';

export interface RunOptions {
  readonly seed: number;
  /** The minimum time for which clients work. Each kind of fault strikes at least once. */
  readonly seconds: number;
  /** The minimum number of operations. */
  readonly operations?: number;
  readonly clients: number;
  /** The number of workers on the queue. */
  readonly workers: number;
  /** Whether the queue has limits for each host. By default it doesn't. */
  readonly byHost?: boolean;
  /** The number of clients of synced sets. Each set also has one client that syncs it. Default: none. */
  readonly crawlers?: number;
  /** Which of the system's kinds of faults to strike with. */
  readonly faults: readonly string[];
}

const SUBJECTS: readonly Subject[] = ['set', 'multiset'];
/** An error rate so low that no item tests positive because of other items. */
const SHAPE = { type: 'counting', errorRate: 1e-9, growth: 'auto' };
const RECOVERY_MS = 60_000;
const FINAL_BATCH = 500;
/** How many syncs each set has at least, even on a slow machine. */
const LEAST_SYNCS = 3;
/** The percentage of outcomes unknown at the end that are resolved by sending again. */
const RESOLVED_PERCENT = 60;

/** Lets clients work on a system while faults strike it, then reads everything back. Leaves the system running. */
export async function run(system: System, options: RunOptions): Promise<History> {
  const { seed } = options;
  const shared: Shared = {
    seed,
    instances: system.instances,
    http: new Http(),
    answers: new Answers(),
  };
  const records = noRecords<Operation, readonly Answer[]>();
  const faults: Fault[] = [];
  const workload = new Workload(new Random(seed));
  const clientOf = (number: number) => new Client(number, new Random(seed + number), shared, ITEMS, records);
  const client = clientOf(0);
  const queue = options.workers > 0 ? new QueueRun(shared, options.byHost) : undefined;
  const { crawlers = 0 } = options;
  const synced = crawlers > 0 ? new SyncedRun(shared) : undefined;
  const failures: string[] = [];
  let descriptions: Description[] = [];
  try {
    await makeFilters(shared, smallCapacity(options));
    await queue?.make(smallCapacity(options));
    await synced?.make(smallCapacity(options));
    const end = performance.now() + options.seconds * 1_000;
    const storm = { over: false };
    const working = [
      ...Array.from({ length: options.clients }, (_, i) => work(clientOf(i + 1), workload, storm, options)),
      ...Array.from({ length: options.workers }, async (_, i) => queue?.work(i + 1, storm, options)),
      ...Array.from({ length: crawlers }, async (_, i) => synced?.work(i + 1, storm)),
      (async () => synced?.sync(storm, LEAST_SYNCS))(),
    ];
    try {
      await Promise.all([sleep(options.seconds * 1_000), ...strikes(system, shared, options, end, faults)]);
    } finally {
      storm.over = true;
      await Promise.all(working);
    }
    await client.resolveSome(RESOLVED_PERCENT, RECOVERY_MS);
    await queue?.resolveSome(RESOLVED_PERCENT, RECOVERY_MS);
    await synced?.resolveSome(RESOLVED_PERCENT, RECOVERY_MS);
    await system.settle();
    const settledAt = performance.now();
    const done = await Promise.all([
      readBack(client, workload, records.attempts),
      queue?.drain(settledAt, RECOVERY_MS),
      synced?.finish(RECOVERY_MS),
    ]);
    if (done.includes(false)) {
      failures.push(`the service did not answer within ${RECOVERY_MS} ms of the last fault`);
    } else {
      descriptions = await describe(shared);
    }
  } finally {
    shared.http.close();
  }
  return {
    attempts: records.attempts,
    faults,
    descriptions,
    failures: [...system.failures, ...failures],
    ...(queue && { queue: queue.history() }),
    ...(synced && { synced: synced.history() }),
  };
}

/**
 * So small that filters grow while faults strike. With all layers they hold about 200 times as much, which is more than
 * a run adds.
 */
function smallCapacity({ seconds, operations = 0 }: RunOptions): number {
  return Math.ceil(20 + seconds + operations / 20);
}

async function makeFilters({ http, instances }: Shared, capacity: number): Promise<void> {
  for (const semantics of SUBJECTS) {
    const body = { name: semantics, semantics, capacity, ...SHAPE };
    await untilAnswered(`filter ${semantics} cannot be created`, () =>
      http.post(`${instances[0]?.url}/v1/filters`, body),
    );
  }
}

async function work(
  client: Client<Operation, readonly Answer[]>,
  workload: Workload,
  storm: { readonly over: boolean },
  { operations = 0 }: RunOptions,
): Promise<void> {
  while (!storm.over || workload.made < operations) {
    await client.perform(workload.next());
    await client.sendAgain();
  }
}

function strikes(
  system: System,
  { http, answers }: Shared,
  { seed, faults: kinds }: RunOptions,
  end: number,
  faults: Fault[],
): Promise<void>[] {
  const cut = {
    kind: 'cut',
    group: 'connections' as const,
    async strike(random: Random) {
      http.cut(random);
      return undefined;
    },
  };
  const chosen = [...system.faults, cut].filter(({ kind }) => kinds.includes(kind));
  return (['processes', 'connections'] as const).map((group, i) => {
    const sources = chosen.filter((source) => source.group === group);
    return disturb(sources, new Random(seed ^ (i + 1)), () => performance.now() >= end, answers, faults);
  });
}

/** Checks and counts every item that was ever used. */
async function readBack(
  client: Client<Operation, readonly Answer[]>,
  workload: Workload,
  attempts: readonly Attempt[],
): Promise<boolean> {
  for (const subject of SUBJECTS) {
    const of = attempts.filter(({ operation }) => operation.subject === subject);
    const items = [...new Set(of.flatMap(({ operation }) => operation.items))];
    for (let i = 0; i < items.length; i += FINAL_BATCH) {
      const batch = items.slice(i, i + FINAL_BATCH);
      for (const verb of ['count', 'check'] as const) {
        const answers = await client.insist(workload.operation(subject, verb, batch), RECOVERY_MS);
        if (answers === undefined) return false;
      }
    }
  }
  return true;
}

async function describe({ http, instances }: Shared): Promise<Description[]> {
  const descriptions: Description[] = [];
  for (const subject of SUBJECTS) {
    const text = await untilAnswered(`filter ${subject} cannot be described`, () =>
      http.get(`${instances[0]?.url}/v1/filters/${subject}`),
    );
    descriptions.push({ subject, items: (JSON.parse(text) as { items: number }).items });
  }
  return descriptions;
}
