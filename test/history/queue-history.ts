import { groupsOf, type AttemptOf } from './attempt.js';

/** The visited set whose queue is checked. It is also its name in the service. */
export const VISITED_SET = 'crawl';

export interface OnUrls {
  readonly id: number;
  /** `discover` gives every URL the operation's id as its payload, which tells later by which discovery it was queued. */
  readonly verb: 'discover' | 'forget';
  readonly urls: readonly string[];
  /** Of a discovery in a set that ages. Absent: the age of the set. */
  readonly ttlSeconds?: number;
}

export interface Lease {
  readonly id: number;
  readonly verb: 'lease';
  readonly max: number;
  readonly seconds: number;
  readonly waitSeconds: number;
}

export interface Settle {
  readonly id: number;
  readonly verb: 'ack' | 'release' | 'extend';
  /** Of leased entries. */
  readonly ids: readonly string[];
  /** The delay of a release, or the new length of a lease. */
  readonly seconds: number;
}

/** What a client of a queue means. However often it is sent, it must happen once. */
export type QueueOperation = OnUrls | Lease | Settle;

/** A URL as a lease hands it out. */
export interface Leased {
  readonly id: string;
  readonly url: string;
  /** The operation that discovered it. */
  readonly discovery: number;
  readonly attempt: number;
}

/** One word per URL or id, or what was leased. */
export type QueueAnswers = { readonly results: readonly string[] } | { readonly leased: readonly Leased[] };

export type QueueAttempt = AttemptOf<QueueOperation, QueueAnswers>;

export interface QueueHistory {
  readonly attempts: readonly QueueAttempt[];
  /**
   * When the last leases began: they took everything, after every other lease and delay had ended. Absent if that
   * did not succeed.
   */
  readonly drainedFrom?: number;
}

/** An operation with everything that is known of its attempts. It leaves out those that surely did nothing. */
export interface QueueEvent<Op extends QueueOperation = QueueOperation> {
  readonly operation: Op;
  readonly attempts: readonly QueueAttempt[];
  /** It took effect, if ever, between these; `end` is Infinity if it was never answered. */
  readonly start: number;
  readonly end: number;
  /** The words of its first answer. */
  readonly results?: readonly string[];
}

/** The operations of a history that may have happened, in order of their first requests. */
export function eventsOf(attempts: readonly QueueAttempt[]): QueueEvent[] {
  const events = groupsOf(attempts).map(eventOf);
  return events.sort((a, b) => a.start - b.start);
}

function eventOf(attempts: QueueAttempt[]): QueueEvent {
  attempts.sort((a, b) => a.end - b.end);
  const first = attempts.find(({ outcome }) => outcome === 'ok');
  return {
    operation: (attempts[0] as QueueAttempt).operation,
    attempts,
    start: Math.min(...attempts.map(({ start }) => start)),
    end: first?.end ?? Infinity,
    ...(first?.answers && 'results' in first.answers && { results: first.answers.results }),
  };
}

/** What an attempt has leased; nothing if it was not answered. */
export function leasedBy({ answers }: QueueAttempt): readonly Leased[] {
  return answers !== undefined && 'leased' in answers ? answers.leased : [];
}

/** Whether an operation is of one of these verbs. */
export function isOf<Verb extends QueueOperation['verb']>(
  event: QueueEvent,
  ...verbs: readonly Verb[]
): event is QueueEvent<Extract<QueueOperation, { readonly verb: Verb }>> {
  return (verbs as readonly string[]).includes(event.operation.verb);
}
