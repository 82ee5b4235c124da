/** Which filter of a run an operation is on; also its name in the service. */
export type Subject = 'set' | 'multiset';

export type Verb = 'add' | 'check' | 'remove' | 'count';

/** What a batch route answers for one item. */
export type Answer = boolean | number | string;

/** A batch as a client means it: however often it is sent, it is to happen once. */
export interface Operation {
  readonly id: number;
  readonly subject: Subject;
  readonly verb: Verb;
  /** May hold an item more than once. */
  readonly items: readonly string[];
}

/**
 * What is known about a request, as Jepsen says it. `ok`: answered. `fail`: surely nothing happened. `info`: not
 * known, it may take effect at any time from its start on, or never.
 */
export type Outcome = 'ok' | 'fail' | 'info';

/** One request of an operation; all those of a mutation carry the same Idempotency-Key. Times are in ms, on one clock. */
export interface Attempt {
  readonly operation: Operation;
  readonly client: number;
  /** Number of the service process it was sent to. */
  readonly instance: number;
  readonly start: number;
  readonly end: number;
  readonly outcome: Outcome;
  /** One an item, when `ok`. */
  readonly answers?: readonly Answer[];
  /** Status and code of an error answer, or what became of the connection. */
  readonly note?: string;
  /** Why this answer must never be given, whatever the state of the items. */
  readonly wrong?: string;
}

/** Something done to the system under test, in ms on the clock of the attempts. */
export interface Fault {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  /** When a master died, whose replica has taken over by the end: its last writes may be lost. */
  readonly diedAt?: number;
}

/** How many items the service says a filter holds, at the end, when nothing changes any more. */
export interface Description {
  readonly subject: Subject;
  readonly items: number;
}

/** All that is known of a run. */
export interface History {
  readonly attempts: readonly Attempt[];
  readonly faults: readonly Fault[];
  readonly descriptions: readonly Description[];
  /** What went wrong beside the answers: a process that ended by itself, a service that did not recover. */
  readonly failures: readonly string[];
}

/** One attempt as one of its items sees it. */
export interface Call {
  readonly attempt: Attempt;
  readonly operation: number;
  readonly verb: Verb;
  /** How often the request names the item. */
  readonly times: number;
  readonly start: number;
  /** Infinity if the outcome is not known. */
  readonly end: number;
  /** One for each time, joined by commas; undefined if the outcome is not known. */
  readonly answer?: string;
}

/** Whether a verb can change anything; the others need no record, and no retry. */
export function mutates(verb: Verb): boolean {
  return verb === 'add' || verb === 'remove';
}

/** The calls of every item of a filter, each list in order of start. Attempts that surely did nothing are left out. */
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
