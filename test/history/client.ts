import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../support/random.js';
import type { Answers } from './answers.js';
import type { AttemptOf } from './attempt.js';
import type { Http } from './http.js';
import { judge } from './judge.js';
import type { Planned } from './plan.js';
import type { Protocol } from './protocol.js';

/** A target for requests. Its URL may change when a process restarts. */
export interface Instance {
  readonly url: string;
}

/** An operation that can be sent again, by any client, because its key identifies it. */
export interface Resendable<Op> {
  readonly operation: Op;
  readonly key: string;
  /**
   * The period in which it may be sent again. It ends because the service forgets the ids that it made after a while.
   */
  readonly from: number;
  readonly until: number;
}

/** The state that all of a run's clients share. */
export interface Shared {
  readonly seed: number;
  readonly instances: readonly Instance[];
  readonly http: Http;
  readonly answers: Answers;
}

/** The records of all clients that send one kind of operation. */
export interface Records<Op, Answers> {
  readonly attempts: AttemptOf<Op, Answers>[];
  /** Operations to send again, whether or not they got an answer. */
  readonly later: Resendable<Op>[];
  /** Operations whose outcome was unknown when the client stopped retrying. */
  readonly unresolved: Resendable<Op>[];
}

export function noRecords<Op, Answers>(): Records<Op, Answers> {
  return { attempts: [], later: [], unresolved: [] };
}

/** Shorter than the 60 s for which the service records the ids that it makes. */
const MADE_ID_MS = 40_000;
const MOST_LATER_MS = 5_000;

/** A client that sends one operation after another, each by its plan, and records the outcomes. */
export class Client<Op extends { readonly id: number }, Answers> {
  constructor(
    private readonly number: number,
    private readonly random: Random,
    private readonly shared: Shared,
    private readonly protocol: Protocol<Op, Answers>,
    private readonly records: Records<Op, Answers>,
  ) {}

  /** Returns the service's answer, if it gave one. */
  async perform({ operation, plan }: Planned<Op>): Promise<Answers | undefined> {
    const began = performance.now();
    let key = plan.keyed ? `history ${this.shared.seed} ${operation.id}`.replaceAll(' ', '-') : undefined;
    const tries = plan.twin
      ? [this.send(operation, key), this.send(operation, key)]
      : [this.send(operation, key)];
    let sent = await Promise.all(tries);
    for (let retry = 0; retry < plan.retries && !sent.some(isKnown); retry++) {
      key ??= sent.find((one) => one.key !== undefined)?.key;
      // Without a key, send it again only if no earlier request can have had an effect.
      if (key === undefined && sent.some(({ attempt }) => attempt.outcome !== 'fail')) break;
      await sleep(this.random.below(200 * (retry + 1)));
      sent = [await this.send(operation, key)];
    }
    key ??= sent.find((one) => one.key !== undefined)?.key;
    const known = sent.find(isKnown)?.attempt.answers;
    if (key === undefined || !this.protocol.mutates(operation)) return known;
    const from = performance.now() + this.random.below(MOST_LATER_MS);
    const resendable = { operation, key, from, until: plan.keyed ? Infinity : began + MADE_ID_MS };
    if (!sent.some(isKnown)) this.records.unresolved.push(resendable);
    else if (plan.repeat === 'at once') await this.send(operation, key);
    else if (plan.repeat === 'later') this.records.later.push(resendable);
    return known;
  }

  /** Sends the next operation that is due, if any. */
  async sendAgain(): Promise<void> {
    const now = performance.now();
    const place = this.records.later.findIndex(({ from }) => from <= now);
    const [due] = place < 0 ? [] : this.records.later.splice(place, 1);
    if (due && due.until > now) await this.send(due.operation, due.key);
  }

  /** Sends until it gets an answer, for at most `ms`. Returns the service's answer, if it gave one. */
  async insist(operation: Op, ms: number, key?: string): Promise<Answers | undefined> {
    const end = performance.now() + ms;
    while (performance.now() < end) {
      const { attempt } = await this.send(operation, key);
      if (attempt.answers !== undefined) return attempt.answers;
      await sleep(50);
    }
    return undefined;
  }

  /** Finds out about `percent` percent of the unknown outcomes by sending again. */
  async resolveSome(percent: number, ms: number): Promise<void> {
    for (const { operation, key, until } of this.records.unresolved) {
      if (this.random.below(100) >= percent || until <= performance.now()) continue;
      await this.insist(operation, until === Infinity ? ms : 1_000, key);
    }
  }

  private async send(
    operation: Op,
    key?: string,
  ): Promise<{ attempt: AttemptOf<Op, Answers>; key?: string }> {
    const { protocol, records } = this;
    const { instances, http } = this.shared;
    const instance = this.random.below(instances.length);
    const { url } = instances[instance] as Instance;
    const { path, body, method = 'POST' } = protocol.request(operation);
    const start = performance.now();
    const reply = await http.send(method, url + path, body, key);
    const end = performance.now();
    const judgement = judge(protocol, operation, key, reply);
    if (judgement.outcome === 'ok' && protocol.mutates(operation)) this.shared.answers.came();
    const attempt = { operation, client: this.number, instance, start, end, ...judgement };
    records.attempts.push(attempt);
    const id = reply.kind === 'answered' ? reply.headers['idempotency-key'] : undefined;
    return typeof id === 'string' ? { attempt, key: id } : { attempt };
  }
}

function isKnown({ attempt }: { readonly attempt: AttemptOf<unknown, unknown> }): boolean {
  return attempt.outcome === 'ok';
}
