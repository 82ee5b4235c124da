import { Random } from '../../support/random.js';
import { mutates, type Attempt, type Call, type Operation, type Subject, type Verb } from '../history.js';
import { ITEM_MODELS } from '../item-model.js';
import type { Rewind } from '../rewind.js';

export interface Simulation {
  /** The number of failovers that lose recent changes. */
  readonly failovers?: number;
  readonly reachMs?: number;
  readonly defect?: 'forgets records' | 'loses an acknowledged change';
}

const SPAN_MS = 400;
const TAKEOVER_MS = 50;
const VERBS: readonly Verb[] = ['add', 'add', 'remove', 'check', 'count'];

interface Request {
  readonly operation: number;
  readonly verb: Verb;
  readonly times: number;
  readonly start: number;
  readonly end: number;
  answer?: string;
}

interface Moment {
  readonly time: number;
  readonly count: number;
  readonly records: ReadonlyMap<number, string>;
}

/** Random calls on one item that is correct except for the defect. Input for the checker. */
export class SimulatedItem {
  readonly rewinds: readonly Rewind[];
  private readonly random: Random;
  private readonly requests: Request[] = [];
  /** When a request takes effect. A failover has no request. */
  private readonly events: { readonly time: number; readonly request?: Request }[] = [];
  private moments: Moment[] = [{ time: -Infinity, count: 0, records: new Map() }];

  constructor(
    private readonly subject: Subject,
    seed: number,
    private readonly simulation: Simulation = {},
  ) {
    this.random = new Random(seed);
    const { failovers = 0, reachMs = 0 } = simulation;
    const starts = Array.from({ length: failovers }, () => this.random.below(SPAN_MS)).sort((a, b) => a - b);
    this.rewinds = starts.map((start) => ({ start, end: start + TAKEOVER_MS, reachMs, evenIfRead: false }));
    for (const { start } of this.rewinds) this.events.push({ time: start });
    for (let operation = 0; operation < 9; operation++) this.plan(operation);
    this.requests.push({ operation: 100, verb: 'count', times: 1, start: 3 * SPAN_MS, end: 3 * SPAN_MS + 1 });
    this.events.push({ time: 3 * SPAN_MS, request: this.requests.at(-1) as Request });
    this.events.sort((a, b) => a.time - b.time);
    for (const { time, request } of this.events) {
      if (request) this.perform(request, time);
      else this.failOver(time);
    }
  }

  calls(): Call[] {
    const calls = this.requests.map(({ answer, ...request }) => {
      const { operation, verb, start, end } = request;
      const batch: Operation = { id: operation, subject: this.subject, verb, items: ['item'] };
      const attempt: Attempt = { operation: batch, client: 0, instance: 0, start, end, outcome: 'info' };
      const call = { ...request, attempt };
      return answer === undefined || end === Infinity ? { ...call, end: Infinity } : { ...call, answer };
    });
    return calls.sort((a, b) => a.start - b.start);
  }

  private plan(operation: number): void {
    const verb = this.random.pick(VERBS);
    const times = this.random.below(5) === 0 ? 2 : 1;
    let start = this.random.below(SPAN_MS);
    const tries = mutates(verb) ? 1 + this.random.below(3) : 1;
    for (let i = 0; i < tries; i++) {
      const known = this.random.below(4) > 0;
      const takesEffect = this.standing(start + this.random.below(40));
      const end = known ? takesEffect + this.random.below(40) : Infinity;
      const request: Request = { operation, verb, times, start, end };
      this.requests.push(request);
      if (known || this.random.below(2) === 0) this.events.push({ time: takesEffect, request });
      // The service itself retries after a failover that came before the answer.
      for (const { start: failed } of this.rewinds) {
        if (start < failed && failed < takesEffect && this.random.below(2) === 0) {
          this.events.push({ time: start + this.random.below(failed - start), request });
        }
      }
      start += this.random.below(80);
    }
  }

  /**
   * The first time from `time` on outside any failover, because no master accepts anything while another takes over.
   */
  private standing(time: number): number {
    let later = time;
    for (const { start, end } of this.rewinds) if (later >= start && later <= end) later = end + 1;
    return later;
  }

  private perform(request: Request, time: number): void {
    const { operation, verb, times } = request;
    const { count, records } = this.moments.at(-1) as Moment;
    const record = this.simulation.defect === 'forgets records' ? undefined : records.get(operation);
    if (record !== undefined) {
      request.answer = record;
      return;
    }
    const effect = ITEM_MODELS[this.subject](count, verb, times);
    request.answer = effect.answer;
    if (!mutates(verb)) return;
    const lost = this.simulation.defect === 'loses an acknowledged change' && this.random.below(3) === 0;
    this.moments.push({
      time,
      count: lost ? count : effect.count,
      records: new Map(records).set(operation, effect.answer),
    });
  }

  /** The replica has the master's state from some time before. */
  private failOver(time: number): void {
    const replicated = time - this.random.below(this.simulation.reachMs ?? 0);
    this.moments = this.moments.filter((moment) => moment.time <= replicated);
  }
}
