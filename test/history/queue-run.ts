import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../support/random.js';
import { Client, noRecords, type Shared } from './client.js';
import {
  VISITED_SET,
  type HostLimits,
  type QueueAnswers,
  type QueueHistory,
  type QueueOperation,
} from './queue-history.js';
import { QUEUE } from './queue-protocol.js';
import { HOSTS, MAX_SECONDS, QueueWorkload } from './queue-workload.js';
import { untilAnswered } from './until-answered.js';

/** So low that no URL tests positive because of other URLs, as in a run's filters. */
const ERROR_RATE = 1e-9;
/** In leases of a thousand, this is more than a run ever leaves. */
const MOST_DRAINS = 100;
/** Workers have numbers that no client of the filters has, so their random numbers differ too. */
const FIRST_WORKER = 1_000;
/** The store's timers notice some time later that a delay has ended. */
const LATE_MS = 500;
/** Limits for a set with `perHost`. */
const PER_HOST: HostLimits = { delaySeconds: 1, maxLeased: 1 };
const NO_LIMITS: HostLimits = { delaySeconds: 0, maxLeased: 1_000_000 };

/** The workers on a queue. They run next to the clients of a run's filters. */
export class QueueRun {
  private readonly records = noRecords<QueueOperation, QueueAnswers>();
  private readonly workload: QueueWorkload;
  private drainedFrom: number | undefined;
  private liftedFrom: number | undefined;

  /** `byHost` means that the set has `perHost`. */
  constructor(
    private readonly shared: Shared,
    private readonly byHost = false,
  ) {
    this.workload = new QueueWorkload(new Random(shared.seed ^ FIRST_WORKER), byHost);
  }

  async make(capacity: number): Promise<void> {
    const { http, instances } = this.shared;
    const perHost = this.byHost ? { growth: 'auto', perHost: PER_HOST } : {};
    const body = { name: VISITED_SET, capacity, errorRate: ERROR_RATE, ...perHost };
    await untilAnswered(`visited set ${VISITED_SET} cannot be created`, () =>
      http.post(`${instances[0]?.url}/v1/visited-sets`, body),
    );
  }

  async work(
    number: number,
    storm: { readonly over: boolean },
    { operations = 0 }: { readonly operations?: number },
  ): Promise<void> {
    const client = this.client(number);
    while (!storm.over || this.workload.made < operations) {
      const answers = await client.perform(this.workload.next());
      if (answers !== undefined && 'leased' in answers) this.workload.leased(answers.leased);
      await client.sendAgain();
    }
  }

  /** Resolves to whether it got an answer within `ms`. */
  async discover(urls: readonly string[], ms: number): Promise<boolean> {
    return (await this.insist(this.workload.discover(urls), ms)) !== undefined;
  }

  resolveSome(percent: number, ms: number): Promise<void> {
    return this.client(0).resolveSome(percent, ms);
  }

  /**
   * Leases everything that is left, once all leases and delays from before `settledAt` have ended, without host limits.
   * Each lease may take `ms`. Resolves to whether it succeeded.
   */
  async drain(settledAt: number, ms: number): Promise<boolean> {
    await sleep(Math.max(0, settledAt + MAX_SECONDS * 1_000 + LATE_MS - performance.now()));
    const from = performance.now();
    if (this.byHost) await this.lift();
    for (let n = 0; n < MOST_DRAINS; n++) {
      const answers = await this.insist(this.workload.drain(), ms);
      if (answers === undefined || !('leased' in answers)) return false;
      if (answers.leased.length > 0) continue;
      this.drainedFrom = from;
      return true;
    }
    return false;
  }

  history(): QueueHistory {
    const { attempts } = this.records;
    const { drainedFrom, liftedFrom } = this;
    return {
      attempts,
      ...(drainedFrom !== undefined && { drainedFrom }),
      ...(this.byHost && { perHost: PER_HOST }),
      ...(liftedFrom !== undefined && { liftedFrom }),
    };
  }

  /** Lifts all hosts' limits. */
  private async lift(): Promise<void> {
    const { http, instances } = this.shared;
    this.liftedFrom = performance.now();
    for (const host of HOSTS)
      await untilAnswered(`the limits of host ${host} cannot be lifted`, () =>
        http.send('PUT', `${instances[0]?.url}/v1/visited-sets/${VISITED_SET}/hosts/${host}`, NO_LIMITS),
      );
  }

  private insist(operation: QueueOperation, ms: number): Promise<QueueAnswers | undefined> {
    return this.client(0).insist(operation, ms, `insist-${this.shared.seed}-${operation.id}`);
  }

  private client(number: number): Client<QueueOperation, QueueAnswers> {
    const id = FIRST_WORKER + number;
    return new Client(id, new Random(this.shared.seed + id), this.shared, QUEUE, this.records);
  }
}
