import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../support/random.js';
import { Answers } from '../answers.js';
import { Client, noRecords, type Instance } from '../client.js';
import { Http } from '../http.js';
import type { Plan } from '../plan.js';
import type { QueueAnswers, QueueOperation } from '../queue-history.js';
import { QUEUE } from '../queue-protocol.js';
import { RequestLog } from './request-log.js';

/** A worker's parameters. */
export interface Task {
  readonly seed: number;
  /** Its number among all workers ever started, from 1. */
  readonly number: number;
  /** The file for its requests. */
  readonly log: string;
  /** The services' URLs. Messages replace them when they change. */
  readonly urls: readonly string[];
}

/** How many operations a worker, or the program itself, makes at most. Each has a unique id. */
export const MOST_OPERATIONS = 1_000_000;

const MOST_LEASED = 1_000;
const LEASE_SECONDS = 2;
const MOST_WORK_MS = 300;
/** Percentages of leases that are partly released, and that are extended. */
const RELEASED = 5;
const EXTENDED = 10;
const PLAN: Plan = { keyed: true, twin: false, retries: 4, repeat: 'never' };

const { seed, number, log, urls } = JSON.parse(process.argv[2] ?? '') as Task;
const random = new Random(seed + number);
const requests = new RequestLog(log);
const instances = instancesAt(urls);
const records = noRecords<QueueOperation, QueueAnswers>();
const shared = { seed, instances, http: new Http(), answers: new Answers() };
const client = new Client(number, random, shared, QUEUE, records);
let made = number * MOST_OPERATIONS;

process.on('message', (moved: readonly string[]) => instances.splice(0, Infinity, ...instancesAt(moved)));
process.on('disconnect', () => process.exit());
// The parent may exit before this process can see that.
if (!process.connected) process.exit();
for (;;) await work();

async function work(): Promise<void> {
  const max = 1 + random.below(MOST_LEASED);
  const answers = await perform({
    ...{ id: ++made, verb: 'lease', max },
    ...{ seconds: LEASE_SECONDS, waitSeconds: 1 },
  });
  const ids = answers !== undefined && 'leased' in answers ? answers.leased.map(({ id }) => id) : [];
  if (ids.length === 0) return;
  await sleep(random.below(MOST_WORK_MS));
  const chosen = random.below(100);
  if (chosen < EXTENDED) await perform({ id: ++made, verb: 'extend', ids, seconds: LEASE_SECONDS });
  const given = chosen < RELEASED ? ids.splice(0, 1 + random.below(ids.length)) : [];
  if (given.length > 0) {
    await perform({ id: ++made, verb: 'release', ids: given, seconds: random.below(LEASE_SECONDS) });
  }
  if (ids.length > 0) await perform({ id: ++made, verb: 'ack', ids, seconds: 0 });
}

async function perform(operation: QueueOperation): Promise<QueueAnswers | undefined> {
  requests.sends(operation);
  const answers = await client.perform({ operation, plan: PLAN });
  requests.learns(records.attempts.splice(0));
  records.unresolved.splice(0);
  return answers;
}

function instancesAt(places: readonly string[]): Instance[] {
  return places.map((url) => ({ url }));
}
