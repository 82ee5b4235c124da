import type { AttemptOf, Fault } from './attempt.js';
import type { QueueHistory } from './queue-history.js';
import type { SyncedHistory } from './syncs/synced-history.js';

/** An operation's filter. It is also the filter's name in the service. */
export type Subject = 'set' | 'multiset';

export type Verb = 'add' | 'check' | 'remove' | 'count';

/** A batch route's answer for one item. */
export type Answer = boolean | number | string;

/** A batch as a client intends it. It must take effect once, even if it is sent several times. */
export interface Operation {
  readonly id: number;
  readonly subject: Subject;
  readonly verb: Verb;
  /** May contain an item more than once. */
  readonly items: readonly string[];
}

/** One request for a batch, with one answer per item. */
export type Attempt = AttemptOf<Operation, readonly Answer[]>;

/** The item count in a filter's description after the last change. */
export interface Description {
  readonly subject: Subject;
  readonly items: number;
}

/** Everything known about a run. */
export interface History {
  readonly attempts: readonly Attempt[];
  readonly faults: readonly Fault[];
  readonly descriptions: readonly Description[];
  /** Failures other than wrong answers: a process that exited by itself, or a service that didn't recover. */
  readonly failures: readonly string[];
  /** Absent if no client used the queue. */
  readonly queue?: QueueHistory;
  /** Absent if no sets were synced. */
  readonly synced?: SyncedHistory;
}

/** One attempt, reduced to one of its items. */
export interface Call {
  readonly attempt: Attempt;
  readonly operation: number;
  readonly verb: Verb;
  /** How often the request contains the item. */
  readonly times: number;
  readonly start: number;
  /** Infinity if the outcome is unknown. */
  readonly end: number;
  /** One answer for each occurrence, joined by commas. Undefined if the outcome is unknown. */
  readonly answer?: string;
}

/** Whether a verb can change anything. Other verbs need no record and no retry. */
export function mutates(verb: Verb): boolean {
  return verb === 'add' || verb === 'remove';
}

/** The calls on each of a filter's items, in order of start, except attempts that certainly had no effect. */
export function callsByItem(attempts: readonly Attempt[], subject: Subject): Map<string, Call[]> {
  const items = new Map<string, Call[]>();
  const inOrder = attempts.filter((attempt) => attempt.operation.subject === subject);
  inOrder.sort((a, b) => a.start - b.start);
  for (const attempt of inOrder) {
    if (attempt.outcome === 'fail') continue;
    for (const item of new Set(attempt.operation.items)) {
      const calls = items.get(item) ?? [];
      if (calls.length === 0) items.set(item, calls);
      calls.push(callOn(item, attempt));
    }
  }
  return items;
}

function callOn(item: string, attempt: Attempt): Call {
  const { operation, start, end, answers } = attempt;
  const places = operation.items.flatMap((name, i) => (name === item ? [i] : []));
  const common = {
    attempt,
    operation: operation.id,
    verb: operation.verb,
    times: places.length,
    start,
  };
  if (attempt.outcome !== 'ok' || answers === undefined) return { ...common, end: Infinity };
  return { ...common, end, answer: places.map((i) => String(answers[i])).join() };
}
