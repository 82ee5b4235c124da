import { groupsOf, type AttemptOf } from '../attempt.js';
import type { QueueAnswers, QueueOperation } from '../queue-history.js';

/** A visited set that is synced while clients use it. */
export interface SyncedSet {
  readonly name: string;
  readonly maxAgeSeconds?: number;
  readonly growth: 'auto' | 'none';
}

interface OnUrls {
  readonly id: number;
  readonly verb: 'visit' | 'check';
  readonly urls: readonly string[];
  /** For a visit in a set that ages. The default is the set's age. */
  readonly ttlSeconds?: number;
}

interface Open {
  readonly id: number;
  readonly verb: 'open';
}

export interface List {
  readonly id: number;
  readonly verb: 'list';
  readonly sync: string;
  readonly urls: readonly string[];
  /** Sent as lines instead of JSON. */
  readonly stream: boolean;
}

interface OnSync {
  readonly id: number;
  readonly verb: 'commit' | 'abandon' | 'look';
  readonly sync: string;
}

/** An operation as a client of a synced set intends it. It must take effect once, even if it is sent several times. */
export type SyncedOperation = (QueueOperation | OnUrls | Open | List | OnSync) & { readonly set: string };

export type SyncState = 'open' | 'committing' | 'committed' | 'abandoned';

/** A sync's state, according to an answer. */
export interface SyncSeen {
  readonly id?: string;
  readonly state?: SyncState;
  /** The reason why it was abandoned. */
  readonly reason?: string;
  /** An error's code. */
  readonly code?: string;
}

export type SyncedAnswers = QueueAnswers | { readonly sync: SyncSeen };

export type SyncedAttempt = AttemptOf<SyncedOperation, SyncedAnswers>;

export interface SyncedHistory {
  readonly sets: readonly SyncedSet[];
  readonly attempts: readonly SyncedAttempt[];
}

/** An operation with all its attempts, except those that certainly had no effect. */
export interface SyncedEvent<Op extends SyncedOperation = SyncedOperation> {
  readonly operation: Op;
  /** In order of their ends. */
  readonly attempts: readonly SyncedAttempt[];
  /** If it took effect, it took effect between `start` and `end`. `end` is Infinity if it never got an answer. */
  readonly start: number;
  readonly end: number;
  /** Its first answer that is not an error. */
  readonly answers?: SyncedAnswers;
}

/** A set's operations that may have taken effect, in order of their first requests. */
export function syncedEventsOf(attempts: readonly SyncedAttempt[], set: string): SyncedEvent[] {
  const events = groupsOf(attempts.filter(({ operation }) => operation.set === set)).map((group) => {
    group.sort((a, b) => a.end - b.end);
    const first = group.find(({ answers }) => answers !== undefined && errorOf(answers) === undefined);
    return {
      operation: (group[0] as SyncedAttempt).operation,
      attempts: group,
      start: Math.min(...group.map(({ start }) => start)),
      end: first?.end ?? Infinity,
      ...(first?.answers && { answers: first.answers }),
    };
  });
  return events.sort((a, b) => a.start - b.start);
}

/** The code of an error that counts as an answer. */
export function errorOf(answers: SyncedAnswers): string | undefined {
  return 'sync' in answers ? answers.sync.code : undefined;
}

export function wordsOf({ answers }: { readonly answers?: SyncedAnswers }): readonly string[] | undefined {
  return answers !== undefined && 'results' in answers ? answers.results : undefined;
}

type OfVerb<Op, Verb> = Op extends { readonly verb: infer Any }
  ? Extract<Any, Verb> extends never
    ? never
    : Op & { readonly verb: Extract<Any, Verb> }
  : never;

/** Whether an operation has one of these verbs. */
export function isVerb<Verb extends SyncedOperation['verb']>(
  event: SyncedEvent,
  ...verbs: readonly Verb[]
): event is SyncedEvent<OfVerb<SyncedOperation, Verb>> {
  return (verbs as readonly string[]).includes(event.operation.verb);
}
