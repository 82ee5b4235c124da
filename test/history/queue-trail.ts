import type { Entry } from './queue-entries.js';
import type { QueueAttempt, QueueOperation } from './queue-history.js';

/** A request that concerned an entry, in words. */
export interface Step {
  readonly start: number;
  /** Infinity if the outcome is unknown. */
  readonly end: number;
  readonly text: string;
}

/** All requests that concerned an entry, for people to read. */
export function trailOf({ of, discovery, holds, handOuts }: Entry): Step[] {
  return [
    ...[discovery, ...of.forgets].flatMap(
      (told) => told?.event.attempts.map((one) => stepOf(one, told.word)) ?? [],
    ),
    ...handOuts.map(({ attempt, leased }) =>
      stepOf(attempt, `${leased.id}, attempt ${leased.attempt}, ${secondsOf(attempt.operation)} s`),
    ),
    ...holds.flatMap(({ leased, settlings }) =>
      settlings.flatMap(({ event, word }) =>
        event.attempts.map((one) => stepOf(one, `${word} (${leased.id}, ${secondsOf(one.operation)} s)`)),
      ),
    ),
  ];
}

function stepOf(attempt: QueueAttempt, word: string | undefined): Step {
  const { operation, client, instance, start, end, outcome, note } = attempt;
  const known = outcome === 'ok';
  const result = known ? String(word) : `? ${note ?? 'not answered'}`;
  return {
    start,
    end: known ? end : Infinity,
    text: `${operation.verb} -> ${result}   (operation ${operation.id}  client ${client}  instance ${instance})`,
  };
}

function secondsOf(operation: QueueOperation): number {
  return 'seconds' in operation ? operation.seconds : 0;
}
