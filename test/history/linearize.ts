import { mutates, type Call } from './history.js';
import type { ItemModel } from './item-model.js';
import { matters, momentsAfter, restorable, type Moment, type Rewind } from './rewind.js';

/** `undecided` means that the search stopped after `maxSteps` states. */
export type Verdict = 'linearizable' | 'violation' | 'undecided';

export const MAX_STEPS = 200_000;

/**
 * Whether some order of an item's calls explains all their answers, as if each took effect at one instant between its
 * start and its end. This is linearizability, by Wing and Gong's search with Lowe's memory of visited states.
 *
 * The object has an idempotent interface. The first call of an operation takes effect and records its answer. All the
 * operation's other calls get their answers from the record. A call with an unknown outcome may take effect at any time
 * from its start on, or never.
 *
 * `calls` must be in order of start. The item is absent at first.
 */
export function linearize(
  calls: readonly Call[],
  model: ItemModel,
  rewinds: readonly Rewind[] = [],
  maxSteps = MAX_STEPS,
): Verdict {
  const relevant = rewinds.filter((rewind) => matters(rewind, calls));
  const search = new Search(calls, model, relevant, maxSteps);
  const found = search.from({ done: 0n, count: 0, records: [], passed: 0, past: [] });
  if (found) return 'linearizable';
  return search.givenUp ? 'undecided' : 'violation';
}

interface State {
  /** One bit for each call that has an answer and a place in the order. */
  readonly done: bigint;
  readonly count: number;
  /** Recorded answers, by operation number. */
  readonly records: readonly (string | undefined)[];
  /** The number of rewinds that have happened or can no longer happen. */
  readonly passed: number;
  /** This state and the earlier ones that a coming rewind may restore. */
  readonly past: readonly Moment[];
}

class Search {
  givenUp = false;
  /** Calls with answers, each with its bit in `done`. */
  private readonly bits: ReadonlyMap<Call, bigint>;
  /** Each mutation's calls, by the mutation's number in this search. */
  private readonly mutations: readonly (readonly Call[])[];
  private readonly numbers = new Map<number, number>();
  private readonly seen = new Set<string>();

  constructor(
    calls: readonly Call[],
    private readonly model: ItemModel,
    private readonly rewinds: readonly Rewind[],
    private readonly maxSteps: number,
  ) {
    const answered = calls.filter(({ answer }) => answer !== undefined);
    this.bits = new Map(answered.map((call, i) => [call, 1n << BigInt(i)]));
    const mutations: Call[][] = [];
    for (const call of calls) {
      if (!mutates(call.verb)) continue;
      const number = this.numbers.get(call.operation) ?? mutations.length;
      this.numbers.set(call.operation, number);
      (mutations[number] ??= []).push(call);
    }
    this.mutations = mutations;
  }

  /** Whether all remaining calls can follow this state in some order. */
  from(state: State): boolean {
    const open = [...this.bits.keys()].filter((call) => this.isOpen(state, call));
    if (open.length === 0) return true;
    const key = this.keyOf(state);
    if (this.seen.has(key)) return false;
    if (this.seen.size >= this.maxSteps) {
      this.givenUp = true;
      return false;
    }
    this.seen.add(key);
    const horizon = Math.min(...open.map(({ end }) => end));
    const next = open.filter(({ start }) => start <= horizon);
    const rewind = this.rewinds[state.passed];
    if (!rewind && next.some((call) => this.contradicts(state, call))) return false;
    const harmless = next.find((call) => this.isHarmless(state, call, rewind));
    if (harmless) return this.from(this.placed(state, harmless, this.effectOf(state, harmless).count));
    return this.someCall(state, next) || this.someUnseen(state, horizon) || this.someRewind(state, horizon);
  }

  private someCall(state: State, next: readonly Call[]): boolean {
    return next.some((call) => {
      const { count, answer } = this.effectOf(state, call);
      return answer === call.answer && this.from(this.placed(state, call, count));
    });
  }

  /** Tries mutations that take effect although no remaining answer shows it. */
  private someUnseen(state: State, horizon: number): boolean {
    return this.mutations.some((calls, number) => {
      const [first] = calls;
      if (first === undefined || first.start > horizon || state.records[number] !== undefined) return false;
      const expected = calls.filter((call) => this.isOpen(state, call));
      const rewindable = state.passed < this.rewinds.length;
      const unknown = calls.some((call) => call.answer === undefined && call.start <= horizon);
      const pending = rewindable && expected.some((call) => call.start <= horizon);
      if (!unknown && !pending) return false;
      const { count, answer } = this.model(state.count, first.verb, first.times);
      if (count === state.count && expected.length === 0) return false;
      if (!rewindable && expected.some((call) => call.answer !== answer)) return false;
      return this.from(this.changed(state, first, count, answer, Infinity));
    });
  }

  private someRewind(state: State, horizon: number): boolean {
    return this.rewinds.some((rewind, i) => {
      if (i < state.passed || rewind.start > horizon) return false;
      return restorable(state.past, rewind).some((past) => {
        const { count, records } = past.at(-1) as Moment;
        return this.from({ ...state, count, records, passed: i + 1, past });
      });
    });
  }

  /** Whether a call has an answer but no place in the order. */
  private isOpen({ done }: State, call: Call): boolean {
    const bit = this.bits.get(call);
    return bit !== undefined && (done & bit) === 0n;
  }

  /** Whether an answer differs from the operation's record. No later state can make such an answer true. */
  private contradicts(state: State, call: Call): boolean {
    const record = this.recordOf(state, call);
    return record !== undefined && record !== call.answer;
  }

  /**
   * A call that changes nothing can be placed immediately. If a rewind may still come, a mutation's record may be lost,
   * and no call after the rewind can be moved before it.
   */
  private isHarmless(state: State, call: Call, rewind: Rewind | undefined): boolean {
    if (rewind && (mutates(call.verb) || call.start > rewind.end)) return false;
    const { count, answer } = this.effectOf(state, call);
    return count === state.count && answer === call.answer;
  }

  private recordOf(state: State, call: Call): string | undefined {
    return mutates(call.verb) ? state.records[this.numbers.get(call.operation) as number] : undefined;
  }

  private effectOf(state: State, call: Call): { count: number; answer: string } {
    const record = this.recordOf(state, call);
    if (record !== undefined) return { count: state.count, answer: record };
    return this.model(state.count, call.verb, call.times);
  }

  private placed(state: State, call: Call, count: number): State {
    const done = state.done | (this.bits.get(call) ?? 0n);
    return this.changed({ ...state, done }, call, count, call.answer, call.end);
  }

  private changed(state: State, call: Call, count: number, answer: string | undefined, end: number): State {
    let { records, passed } = state;
    const number = mutates(call.verb) ? (this.numbers.get(call.operation) as number) : undefined;
    if (number !== undefined && records[number] === undefined) {
      const extended = Array.from(this.mutations, (_, i) => records[i]);
      extended[number] = answer;
      records = extended;
    }
    if (end !== Infinity) {
      while (passed < this.rewinds.length && (this.rewinds[passed] as Rewind).end < call.start) passed++;
    }
    const coming = this.rewinds[passed];
    const keeps = mutates(call.verb) || coming?.evenIfRead === false;
    const moment = { count, records, end: keeps ? end : Infinity };
    return { done: state.done, count, records, passed, past: momentsAfter(state, moment, coming) };
  }

  /**
   * States with the same continuations have the same key. A moment's end matters only through the rewinds for which it
   * is too old.
   */
  private keyOf({ done, count, records, passed, past }: State): string {
    const words = past.map((moment) => {
      const open = this.rewinds.filter(({ start, reachMs }) => moment.end >= start - reachMs).length;
      return `${moment.count},${open},${moment.records.join(';')}`;
    });
    return `${done.toString(36)}|${count}|${records.join(';')}|${passed}|${words.join('/')}`;
  }
}
