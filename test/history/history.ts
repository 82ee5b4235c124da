import type { AttemptOf, Fault } from './attempt.js';
import type { QueueHistory } from './queue-history.js';
import type { SyncedHistory } from './syncs/synced-history.js';

/** The filter that an operation is on. It is also the filter's name in the service. */
export type Subject = 'set' | 'multiset';

export type Verb = 'add' | 'check' | 'remove' | 'count';

/** The answer of a batch route for one item. */
export type Answer = boolean | number | string;

/** A batch as a client means it. However often it is sent, it must happen once. */
export interface Operation {
  readonly id: number;
  readonly subject: Subject;
  readonly verb: Verb;
  /** May hold an item more than once. */
  readonly items: readonly string[];
}

/** One request of a batch, with an answer per item. */
export type Attempt = AttemptOf<Operation, readonly Answer[]>;

/** How many items a filter holds by its description at the end, when nothing changes any more. */
export interface Description {
  readonly subject: Subject;
  readonly items: number;
}

/** Everything that is known of a run. */
export interface History {
  readonly attempts: readonly Attempt[];
  readonly faults: readonly Fault[];
  readonly descriptions: readonly Description[];
  /** Failures beside the answers: a process that ended by itself, a service that did not recover. */
  readonly failures: readonly string[];
  /** Absent if nobody worked on the queue. */
  readonly queue?: QueueHistory;
  /** Absent if no sets were synced. */
  readonly synced?: SyncedHistory;
}

/** One attempt, reduced to one of its items. */
export interface Call {
  readonly attempt: Attempt;
  readonly operation: number;
  readonly verb: Verb;
  /** How often the request names the item. */
  readonly times: number;
  readonly start: number;
  /** Infinity if the outcome is unknown. */
  readonly end: number;
  /** One answer for each time, joined by commas; undefined if the outcome is unknown. */
  readonly answer?: string;
}

/** Whether a verb can change anything. The others need no record and no retry. */
export function mutates(verb: Verb): boolean {
  return verb === 'add' || verb === 'remove';
}

/** The calls of every item of a filter, each list in order of start. It leaves out attempts that surely did nothing. */
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
