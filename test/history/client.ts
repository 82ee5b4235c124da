import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../support/random.js';
import type { Answers } from './answers.js';
import { mutates, type Attempt, type Operation } from './history.js';
import type { Http } from './http.js';
import { judge } from './judge.js';
import type { Planned } from './workload.js';

/** Where requests can be sent. The URL may change when a process is started again. */
export interface Instance {
  readonly url: string;
}

/** An operation that can be sent again. Any client may do so, because its key identifies it. */
export interface Resendable {
  readonly operation: Operation;
  readonly key: string;
  /** The time from and until which it may be sent again: an id that the service made is not known for ever. */
  readonly from: number;
  readonly until: number;
}

/** What all clients of a run share. */
export interface Shared {
  readonly seed: number;
  readonly instances: readonly Instance[];
  readonly http: Http;
  readonly answers: Answers;
  readonly attempts: Attempt[];
  /** Operations to be sent again, answered or not. */
  readonly later: Resendable[];
  /** Operations whose outcomes were not known when the client gave up. */
  readonly unresolved: Resendable[];
}

/** Ids made by the service are recorded for 60 s. */
const MADE_ID_MS = 40_000;
const MOST_LATER_MS = 5_000;

/** One client. It sends one operation after the other, each as its plan says, and records what it learns. */
export class Client {
  constructor(
    private readonly number: number,
    private readonly random: Random,
    private readonly shared: Shared,
  ) {}

  async perform({ operation, plan }: Planned): Promise<void> {
    const began = performance.now();
    let key = plan.keyed ? `history ${this.shared.seed} ${operation.id}`.replaceAll(' ', '-') : undefined;
    const tries = plan.twin
      ? [this.send(operation, key), this.send(operation, key)]
      : [this.send(operation, key)];
    let sent = await Promise.all(tries);
    for (let retry = 0; retry < plan.retries && !sent.some(isKnown); retry++) {
      key ??= sent.find((one) => one.key !== undefined)?.key;
      // Without a key it can be sent again only if it surely was not sent before.
      if (key === undefined && sent.some(({ attempt }) => attempt.outcome !== 'fail')) break;
      await sleep(this.random.below(200 * (retry + 1)));
      sent = [await this.send(operation, key)];
    }
    key ??= sent.find((one) => one.key !== undefined)?.key;
    if (key === undefined || !mutates(operation.verb)) return;
    const from = performance.now() + this.random.below(MOST_LATER_MS);
    const resendable = { operation, key, from, until: plan.keyed ? Infinity : began + MADE_ID_MS };
    if (!sent.some(isKnown)) this.shared.unresolved.push(resendable);
    else if (plan.repeat === 'at once') await this.send(operation, key);
    else if (plan.repeat === 'later') this.shared.later.push(resendable);
  }

  /** Sends again what is due, if anything is. */
  async sendAgain(): Promise<void> {
    const now = performance.now();
    const place = this.shared.later.findIndex(({ from }) => from <= now);
    const [due] = place < 0 ? [] : this.shared.later.splice(place, 1);
    if (due && due.until > now) await this.send(due.operation, due.key);
  }

  /** Sends until it is answered, for at most `ms`. Answers whether it was. */
  async insist(operation: Operation, ms: number, key?: string): Promise<boolean> {
    const end = performance.now() + ms;
    while (performance.now() < end) {
      if (isKnown(await this.send(operation, key))) return true;
      await sleep(50);
    }
    return false;
  }

  private async send(operation: Operation, key?: string): Promise<{ attempt: Attempt; key?: string }> {
    const { instances, http, attempts } = this.shared;
    const instance = this.random.below(instances.length);
    const { url } = instances[instance] as Instance;
    const { subject, verb, items } = operation;
    const start = performance.now();
    const reply = await http.post(`${url}/v1/filters/${subject}/items/${verb}`, { items }, key);
    const end = performance.now();
    const judgement = judge(operation, key, reply);
    if (judgement.outcome === 'ok' && mutates(verb)) this.shared.answers.came();
    const attempt = { operation, client: this.number, instance, start, end, ...judgement };
    attempts.push(attempt);
    const id = reply.kind === 'answered' ? reply.headers['idempotency-key'] : undefined;
    return typeof id === 'string' ? { attempt, key: id } : { attempt };
  }
}

function isKnown({ attempt }: { readonly attempt: Attempt }): boolean {
  return attempt.outcome === 'ok';
}
