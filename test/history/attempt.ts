/**
 * What is known about a request, in Jepsen's words. `ok`: answered. `fail`: surely nothing happened. `info`: unknown;
 * it may take effect at any time from its start on, or never.
 */
export type Outcome = 'ok' | 'fail' | 'info';

/**
 * One request of an operation, and the answers that it brought. All requests of a mutation carry the same
 * Idempotency-Key. Times are in ms, on one clock.
 */
export interface AttemptOf<Op, Answers> {
  readonly operation: Op;
  readonly client: number;
  /** Number of the service process that it was sent to. */
  readonly instance: number;
  readonly start: number;
  readonly end: number;
  readonly outcome: Outcome;
  /** Present if `ok`. */
  readonly answers?: Answers;
  /** Status and code of an error answer, or what became of the connection. */
  readonly note?: string;
  /** Why no correct service gives this answer, whatever its state. */
  readonly wrong?: string;
}

/** Something that was done to the system under test, with times in ms on the clock of the attempts. */
export interface Fault {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  /** When a master died whose replica has taken over by the end: its last writes may be lost. */
  readonly diedAt?: number;
}

/** The attempts of each operation, without those that surely did nothing. */
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
