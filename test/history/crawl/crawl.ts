import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../support/random.js';
import { Answers } from '../answers.js';
import type { Shared } from '../client.js';
import type { Fault } from '../attempt.js';
import { Http } from '../http.js';
import { disturb } from '../nemesis.js';
import { VISITED_SET, type QueueAttempt, type QueueHistory } from '../queue-history.js';
import { QueueRun } from '../queue-run.js';
import type { FaultSource, System } from '../system.js';
import type { CrawlOptions } from './options.js';
import { Workers } from './workers.js';

const BATCH = 1_000;
const RECOVERY_MS = 60_000;
const LOOK_MS = 500;
const LONGEST_MS = 1_800_000;

export interface Crawl {
  readonly queue: QueueHistory;
  readonly faults: readonly Fault[];
  /** Failures other than wrong answers. */
  readonly failures: readonly string[];
  /** The time until the queue was empty. */
  readonly seconds: number;
}

/** Discovers all URLs while workers, some of which get killed, process them until none is left. Logs go to `folder`. */
export async function crawl(
  system: System,
  folder: string,
  urls: readonly string[],
  { seed, workers: count, faults: kinds }: CrawlOptions,
): Promise<Crawl> {
  const shared: Shared = { seed, instances: system.instances, http: new Http(), answers: new Answers() };
  const queue = new QueueRun(shared);
  await queue.make(urls.length);
  const began = performance.now();
  const faults: Fault[] = [];
  const workers = new Workers(system, seed, folder, count);
  const chosen = system.faults.filter(({ kind }) => kinds.includes(kind));
  let over = false;
  let failed = false;
  const strikeWith = (sources: readonly FaultSource[], n: number) =>
    disturb(sources, new Random(seed ^ n), () => over, shared.answers, faults);
  const work = async () => {
    try {
      await discoverAll(queue, urls, () => failed);
      await untilEmpty(shared, () => failed);
    } finally {
      over = true;
    }
  };
  const services = chosen.map((source) => workers.followed(source));
  const parts = [work(), strikeWith([workers.kill], 1), strikeWith(services, 2)].map((part) =>
    part.catch((error: unknown) => {
      failed = true;
      throw error;
    }),
  );
  let attempts: QueueAttempt[] = [];
  try {
    await Promise.all(parts);
  } finally {
    // Wait for a strike in progress, because it might start another worker.
    await Promise.allSettled(parts);
    attempts = await workers.stop();
  }
  const seconds = (performance.now() - began) / 1_000;
  let drained: boolean;
  try {
    await system.settle();
    drained = await queue.drain(performance.now(), RECOVERY_MS);
  } finally {
    shared.http.close();
  }
  const own = queue.history();
  return {
    queue: { ...own, attempts: [...own.attempts, ...attempts] },
    faults,
    failures: [
      ...workers.failures,
      ...system.failures,
      ...(drained ? [] : ['the queue could not be emptied']),
    ],
    seconds,
  };
}

async function discoverAll(queue: QueueRun, urls: readonly string[], failed: () => boolean): Promise<void> {
  for (let i = 0; i < urls.length && !failed(); i += BATCH) {
    const answered = await queue.discover(urls.slice(i, i + BATCH), RECOVERY_MS);
    if (answered) continue;
    const { wrong, note } = queue.history().attempts.at(-1) ?? {};
    throw new Error(`a discovery was not answered within ${RECOVERY_MS} ms: ${wrong ?? note}`);
  }
}

async function untilEmpty({ http, instances }: Shared, failed: () => boolean): Promise<void> {
  for (const end = performance.now() + LONGEST_MS; performance.now() < end;) {
    if (failed()) return;
    await sleep(LOOK_MS);
    const reply = await http.get(`${instances[0]?.url}/v1/visited-sets/${VISITED_SET}`);
    if (reply.kind !== 'answered' || reply.status !== 200) continue;
    const { waiting, leased, delayed } = (JSON.parse(reply.text) as { queue: Record<string, number> }).queue;
    if (waiting === 0 && leased === 0 && delayed === 0) return;
  }
  throw new Error(`the queue is not empty after ${LONGEST_MS} ms`);
}
