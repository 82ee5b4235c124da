import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../support/random.js';
import { Client, noRecords, type Shared } from '../client.js';
import { planFor } from '../plan.js';
import { untilAnswered } from '../until-answered.js';
import { Conductor } from './conductor.js';
import type { SyncedAnswers, SyncedHistory, SyncedOperation, SyncedSet } from './synced-history.js';
import { SYNCED } from './synced-protocol.js';
import { SyncedWorkload } from './synced-workload.js';

/** So low that no URL tests positive because of other URLs, as in a run's filters. */
const ERROR_RATE = 1e-9;
/** A set's minimum age. */
const AGE_SECONDS = 10;
const SETS: readonly SyncedSet[] = [
  { name: 'fixed', growth: 'none' },
  { name: 'growing', growth: 'auto' },
  { name: 'ageing', growth: 'auto', maxAgeSeconds: AGE_SECONDS },
];
/** The capacity of the set that doesn't grow, which is more than a run adds. */
const FIXED_CAPACITY = 200_000;
/** URLs in each queue at the start. */
const QUEUED = 1_000;
/** These clients have numbers that no client of the filters and the queue has, so their random numbers differ too. */
const FIRST_CLIENT = 2_000;
const MOST_PAUSE_MS = 20;
const FINAL_BATCH = 500;
/** How often the ageing set is read at the end, until everything in it has expired. */
const READ_EVERY_MS = 1_000;

/** Clients for synced visited sets. They run next to the clients of a run's filters. */
export class SyncedRun {
  private readonly records = noRecords<SyncedOperation, SyncedAnswers>();
  private readonly workloads: readonly SyncedWorkload[];
  private made = 0;

  constructor(private readonly shared: Shared) {
    const nextId = () => ++this.made;
    this.workloads = SETS.map(
      (set, i) => new SyncedWorkload(set, new Random(shared.seed ^ (FIRST_CLIENT + i)), nextId),
    );
  }

  async make(capacity: number): Promise<void> {
    const { http, instances } = this.shared;
    for (const { set } of this.workloads) {
      const { name, growth, maxAgeSeconds } = set;
      const room = growth === 'none' ? FIXED_CAPACITY : capacity;
      const body = { name, capacity: room, errorRate: ERROR_RATE, growth, maxAgeSeconds };
      await untilAnswered(`visited set ${name} cannot be created`, () =>
        http.post(`${instances[0]?.url}/v1/visited-sets`, body),
      );
    }
    for (const workload of this.workloads) {
      await this.insist(workload.operation({ verb: 'discover', urls: workload.fresh(QUEUED) }), 10_000);
    }
  }

  /** A client that makes any calls on any set. */
  async work(number: number, storm: { readonly over: boolean }): Promise<void> {
    const random = new Random(this.shared.seed + FIRST_CLIENT + number);
    const client = this.client(number);
    while (!storm.over) {
      const workload = random.pick(this.workloads);
      const operation = workload.next();
      const answers = await client.perform({ operation, plan: planFor(random, SYNCED.mutates(operation)) });
      if (answers !== undefined && 'leased' in answers) workload.leased(answers.leased);
      await client.sendAgain();
      await sleep(random.below(MOST_PAUSE_MS));
    }
  }

  /** A client for each set that syncs it repeatedly, at least `cycles` times. */
  async sync(storm: { readonly over: boolean }, cycles: number): Promise<void> {
    await Promise.all(
      this.conductors().map(async (conductor) => {
        for (let done = 0; !storm.over || done < cycles; done++) await conductor.cycle();
      }),
    );
  }

  resolveSome(percent: number, ms: number): Promise<void> {
    return this.client(0).resolveSome(percent, ms);
  }

  /**
   * Ends all syncs, exercises each rule, and reads all URLs back. Each call may take `ms`. Resolves to whether it
   * succeeded.
   */
  async finish(ms: number): Promise<boolean> {
    const repeat = (operation: SyncedOperation) => this.insist(operation, ms);
    for (const conductor of this.conductors()) {
      if (!(await conductor.finish())) return false;
      await conductor.close(repeat);
      if (!(await conductor.finish())) return false;
    }
    for (const workload of this.workloads) if (!(await this.readBack(workload, ms))) return false;
    const ageing = this.workloads.filter(({ set }) => set.maxAgeSeconds !== undefined);
    for (const workload of ageing) {
      await this.insist(workload.operation({ verb: 'visit', urls: workload.fresh(2) }), ms);
    }
    // The age and two more steps.
    const end = performance.now() + AGE_SECONDS * 1_200;
    while (performance.now() < end) {
      await sleep(READ_EVERY_MS);
      for (const workload of ageing) if (!(await this.readBack(workload, ms))) return false;
    }
    return true;
  }

  history(): SyncedHistory {
    return { sets: SETS, attempts: this.records.attempts };
  }

  private async readBack(workload: SyncedWorkload, ms: number): Promise<boolean> {
    const used = this.records.attempts.flatMap(({ operation }) =>
      operation.set === workload.set.name && 'urls' in operation ? operation.urls : [],
    );
    const urls = [...new Set(used)];
    for (let i = 0; i < urls.length; i += FINAL_BATCH) {
      const check = workload.operation({ verb: 'check', urls: urls.slice(i, i + FINAL_BATCH) });
      if ((await this.client(0).insist(check, ms)) === undefined) return false;
    }
    return true;
  }

  private conductors(): Conductor[] {
    return this.workloads.map((workload, i) => {
      const number = 500 + i;
      const random = new Random(this.shared.seed - number);
      return new Conductor(this.client(number), workload, random, this.shared.answers);
    });
  }

  private insist(operation: SyncedOperation, ms: number): Promise<SyncedAnswers | undefined> {
    return this.client(0).insist(operation, ms, `history-${this.shared.seed}-${operation.id}`);
  }

  private client(number: number): Client<SyncedOperation, SyncedAnswers> {
    const id = FIRST_CLIENT + number;
    return new Client(id, new Random(this.shared.seed + id), this.shared, SYNCED, this.records);
  }
}
