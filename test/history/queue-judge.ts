import type { Losses } from './rewind.js';
import type { Violation } from './violation.js';
import type { AttemptOf, Fault } from './attempt.js';
import { Doubts } from './queue-doubts.js';
import { entriesOf } from './queue-entries.js';
import {
  eventsOf,
  leasedBy,
  type QueueAttempt,
  type QueueEvent,
  type QueueHistory,
} from './queue-history.js';
import { RULES } from './queue-rules.js';
import { trailOf } from './queue-trail.js';

export interface QueueReport {
  readonly entriesChecked: number;
  readonly violations: readonly Violation[];
}

/**
 * Checks the answers to the workers on a queue. It checks every answer alone, every operation's repeats, and every
 * entry's history by the rules. An operation without an answer may have taken effect at any time, or never. The same
 * applies to an operation with an answer, if a failover may have lost it.
 */
export function judgeQueue(
  { attempts, ...run }: QueueHistory,
  faults: readonly Fault[],
  losses?: Losses,
): QueueReport {
  const doubts = new Doubts(faults, losses);
  const events = eventsOf(attempts);
  const entries = entriesOf(events, (event) => doubts.mayBeAnew(event));
  const violations: Violation[] = wrongAnswers(attempts);
  for (const event of events) {
    const { verb, id } = event.operation;
    const differs = verb === 'lease' ? leasesMore(event) : answersDiffer(event);
    if (!differs || doubts.mayBeLost(event)) continue;
    violations.push({ what: `a repeat of ${verb} (operation ${id}) was answered differently` });
  }
  for (const entry of entries) {
    for (const { broken, breaks } of RULES) {
      if (!breaks(entry, doubts, run)) continue;
      violations.push({ what: `${entry.of.url} ${broken}`, trail: trailOf(entry) });
    }
  }
  return { entriesChecked: entries.length, violations };
}

/** Answers that no correct service can give, whatever happened before. */
export function wrongAnswers(
  attempts: readonly AttemptOf<{ readonly id: number; readonly verb: string }, unknown>[],
): Violation[] {
  return attempts.flatMap(({ wrong, operation, note }) =>
    wrong === undefined
      ? []
      : [{ what: `${operation.verb} (operation ${operation.id}) was answered ${note ?? ''}: ${wrong}` }],
  );
}

function answersDiffer({ attempts }: QueueEvent): boolean {
  const words = attempts.flatMap(({ answers }) =>
    answers !== undefined && 'results' in answers ? [answers.results.join()] : [],
  );
  return new Set(words).size > 1;
}

/**
 * Whether a repeated lease returned entries that it had not leased before. Overlapping requests may find different
 * URLs, and the lease then holds all of them. So this considers only repeats that were sent after all earlier requests
 * got their answers.
 */
function leasesMore({ attempts }: QueueEvent): boolean {
  return attempts.some((repeat) => {
    const before = attempts.filter(({ start }) => start < repeat.start);
    const answered = ({ outcome, end }: QueueAttempt) => outcome === 'ok' && end < repeat.start;
    const leases = new Set(before.flatMap(leasedBy).map(({ id }) => id));
    return leases.size > 0 && before.every(answered) && leasedBy(repeat).some(({ id }) => !leases.has(id));
  });
}
