/**
 * The outcome of a request, in Jepsen's terms. `ok`: answered. `fail`: certainly no effect. `info`: unknown; it may
 * take effect at any time from its start on, or never.
 */
export type Outcome = 'ok' | 'fail' | 'info';

/**
 * One request of an operation, and its answers. All requests of a mutation carry the same Idempotency-Key. Times are in
 * ms, on one clock.
 */
export interface AttemptOf<Op, Answers> {
  readonly operation: Op;
  readonly client: number;
  /** Number of the service process that received it. */
  readonly instance: number;
  readonly start: number;
  readonly end: number;
  readonly outcome: Outcome;
  /** Present if the outcome is `ok`. */
  readonly answers?: Answers;
  /** Status and code of an error, or the failure of the connection. */
  readonly note?: string;
  /** Why no correct service can give this answer in any state. */
  readonly wrong?: string;
}

/** A fault in the system under test, with times in ms on the clock of the attempts. */
export interface Fault {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  /** The time when a master died; a replica took over by `end`. The master's last writes may be lost. */
  readonly diedAt?: number;
  /** The time since which that replica may have received nothing. Absent: it lagged only as in normal work. */
  readonly heldAt?: number | undefined;
}

/** The data that a failover adds to its fault. */
export type Death = Pick<Fault, 'heldAt'> & Required<Pick<Fault, 'diedAt'>>;

/** The attempts of each operation, except those that certainly had no effect. */
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
