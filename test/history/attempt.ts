/**
 * A request's outcome, in Jepsen's terms. `ok`: it got an answer. `fail`: it certainly had no effect. `info`: unknown,
 * so it may take effect at any time from its start on, or never.
 */
export type Outcome = 'ok' | 'fail' | 'info';

/**
 * One of an operation's requests, and its answers. All requests for a mutation carry the same Idempotency-Key. Times
 * are in ms, on one clock.
 */
export interface AttemptOf<Op, Answers> {
  readonly operation: Op;
  readonly client: number;
  /** Which service process received it, by number. */
  readonly instance: number;
  readonly start: number;
  readonly end: number;
  readonly outcome: Outcome;
  /** Present if the outcome is `ok`. */
  readonly answers?: Answers;
  /** An error's status and code, or how the connection failed. */
  readonly note?: string;
  /** Why no correct service can give this answer in any state. */
  readonly wrong?: string;
}

/** A fault in the system under test, with times in ms on the attempts' clock. */
export interface Fault {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  /** When a master died. A replica took over by `end`, and the master's last writes may be lost. */
  readonly diedAt?: number;
  /** When that replica may have stopped receiving writes. If absent, it lagged only as in normal work. */
  readonly heldAt?: number | undefined;
}

/** What a failover adds to its fault. */
export type Death = Pick<Fault, 'heldAt'> & Required<Pick<Fault, 'diedAt'>>;

/** Each operation's attempts, except those that certainly had no effect. */
export function groupsOf<Attempt extends AttemptOf<{ readonly id: number }, unknown>>(
  attempts: readonly Attempt[],
): Attempt[][] {
  const groups = new Map<number, Attempt[]>();
  for (const attempt of attempts) {
    if (attempt.outcome === 'fail') continue;
    const group = groups.get(attempt.operation.id);
    if (group) group.push(attempt);
    else groups.set(attempt.operation.id, [attempt]);
  }
  return [...groups.values()];
}
