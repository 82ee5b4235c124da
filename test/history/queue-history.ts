import { PRIORITIES, type Priority } from '#store';
import { groupsOf, type AttemptOf } from './attempt.js';

/** The visited set whose queue is checked. It is also the set's name in the service. */
export const VISITED_SET = 'crawl';

export interface OnUrls {
  readonly id: number;
  /** `discover` sends the operation's id as the payload of every URL, so a lease shows which discovery queued it. */
  readonly verb: 'discover' | 'forget';
  readonly urls: readonly string[];
  /** For a discovery in a set that ages. The default is the set's age. */
  readonly ttlSeconds?: number;
  readonly priority?: Priority;
  /** The time after which URLs can be leased. */
  readonly delaySeconds?: number;
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
  /** The ids of leased entries. */
  readonly ids: readonly string[];
  /** A release's delay, a lease's new length, or the time after which acknowledged URLs come back (0 means never). */
  readonly seconds: number;
  /** For a release. True if the lease doesn't count as an attempt. */
  readonly isUncounted?: boolean;
  /** For a release. How long the hosts are delayed. */
  readonly hostSeconds?: number;
}

/** An operation as a client of a queue intends it. It must take effect once, even if it is sent several times. */
export type QueueOperation = OnUrls | Lease | Settle;

/** A URL as a lease hands it out. */
export interface Leased {
  readonly id: string;
  readonly url: string;
  /** The operation that discovered it. */
  readonly discovery: number;
  readonly attempt: number;
}

/** One result per URL or id, or the leased entries. */
export type QueueAnswers = { readonly results: readonly string[] } | { readonly leased: readonly Leased[] };

export type QueueAttempt = AttemptOf<QueueOperation, QueueAnswers>;

export interface HostLimits {
  readonly delaySeconds: number;
  readonly maxLeased: number;
}

export interface QueueHistory {
  readonly attempts: readonly QueueAttempt[];
  /**
   * The start of the final leases, which took everything after all other leases and delays had ended. Absent if they
   * failed.
   */
  readonly drainedFrom?: number;
  /** In a set with `perHost`. The limits hold until `liftedFrom`. */
  readonly perHost?: HostLimits;
  readonly liftedFrom?: number;
}

/** Higher numbers for lower priorities. */
export const levelOf = ({ priority = 'normal' }: OnUrls): number => PRIORITIES.indexOf(priority);

/** An operation with everything known about its attempts, except those that certainly had no effect. */
export interface QueueEvent<Op extends QueueOperation = QueueOperation> {
  readonly operation: Op;
  readonly attempts: readonly QueueAttempt[];
  /** If it took effect, it took effect between `start` and `end`. `end` is Infinity if it never got an answer. */
  readonly start: number;
  readonly end: number;
  /** Its first answer's results. */
  readonly results?: readonly string[];
}

/** A history's operations that may have taken effect, in order of their first requests. */
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

/** The entries that an attempt has leased. Empty if it got no answer. */
export function leasedBy({ answers }: QueueAttempt): readonly Leased[] {
  return answers !== undefined && 'leased' in answers ? answers.leased : [];
}

/** Whether an operation has one of these verbs. */
export function isOf<Verb extends QueueOperation['verb']>(
  event: QueueEvent,
  ...verbs: readonly Verb[]
): event is QueueEvent<Extract<QueueOperation, { readonly verb: Verb }>> {
  return (verbs as readonly string[]).includes(event.operation.verb);
}
