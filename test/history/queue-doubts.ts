import { type Losses, reachOf } from './rewind.js';
import type { AttemptOf, Fault } from './attempt.js';
import { mayHaveDone, type Entry, type Hold, type Term } from './queue-entries.js';
import type { QueueEvent } from './queue-history.js';

/** Stores count whole milliseconds and callers fractions, and their clocks drift slightly during a lease. */
const CLOCKS_MS = 10;

type Known = Pick<AttemptOf<unknown, unknown>, 'outcome' | 'start' | 'end'>;

/** Facts that the answers leave open, such as whether a failover has lost a change, and whether a lease has ended. */
export class Doubts {
  /** The periods whose confirmed changes may be lost, from the first such answer to the takeover. */
  private readonly gaps: readonly { readonly from: number; readonly diedAt: number; readonly end: number }[];

  constructor(faults: readonly Fault[], losses: Losses | undefined) {
    // If changes wait for a replica, confirmed changes can't be lost.
    this.gaps = faults.flatMap(({ diedAt, heldAt, end }) => {
      if (diedAt === undefined || losses === undefined || losses.evenIfRead) return [];
      return [{ from: diedAt - reachOf(losses, { diedAt, heldAt }), diedAt, end }];
    });
  }

  /** Whether a confirmed change may have been lost by a time. */
  mayBeLost({ start, end }: Pick<QueueEvent, 'start' | 'end'>, by = Infinity): boolean {
    return this.gaps.some((gap) => end >= gap.from && start <= gap.end && gap.diedAt <= by);
  }

  /**
   * Whether an operation may have been executed again because a failover lost its change and record. This is so if its
   * answer came before the death, late enough that the change may be lost, and if it was sent again after the death.
   * Its first answer is then true only for the first execution.
   */
  mayBeAnew({ attempts }: { readonly attempts: readonly Known[] }): boolean {
    return this.gaps.some(({ from, diedAt, end }) => {
      const answered = attempts.some(
        ({ outcome, start, end: at }) => outcome === 'ok' && at >= from && start <= end,
      );
      return answered && attempts.length > 1 && attempts.some(({ end: at }) => at > diedAt);
    });
  }

  /** Whether a time after an operation may have passed. */
  mayBeDue(event: Pick<QueueEvent, 'start' | 'end'>, seconds: number, by: number): boolean {
    return event.start + seconds * 1_000 - CLOCKS_MS <= by || this.mayBeLost(event, by);
  }

  /** Whether a lease may have ended by a time, for any cause but `except`. */
  mayBeOver(hold: Hold, by: number, except?: QueueEvent): boolean {
    if (this.mayBeLost(hold, by) || this.mayBeForgotten(hold, by)) return true;
    const settlings = hold.settlings.filter(({ event }) => event !== except && event.start <= by);
    if (settlings.some((told) => mayHaveDone(told, 'ack') || mayHaveDone(told, 'release'))) return true;
    const terms = termsOf(hold).filter(({ start }) => start <= by);
    const replaced = (term: Term) =>
      terms.some((later) => later.start > term.end && later.end <= by && !this.mayBeLost(later, by));
    return terms.some((term) => !replaced(term) && term.start + term.seconds * 1_000 - CLOCKS_MS <= by);
  }

  /** Whether a lease has certainly ended when a request is sent. */
  isOver(hold: Hold, at: number): boolean {
    if (this.mayBeLost(hold, at)) return false;
    const past = (event: Pick<QueueEvent, 'start' | 'end'>) => event.end < at && !this.mayBeLost(event, at);
    return (
      termsOf(hold).every(({ end, seconds }) => end + seconds * 1_000 + CLOCKS_MS < at) ||
      hold.settlings.some(({ event, word }) => (word === 'acked' || word === 'released') && past(event)) ||
      hold.entry.holds.some((next) => hold.end < next.start && past(next)) ||
      this.isForgotten(hold.entry, at)
    );
  }

  /** Whether a lease's entry may have been forgotten between the lease and a time. */
  mayBeForgotten({ entry, start }: Hold, by: number): boolean {
    return entry.of.forgets.some(({ event }) => event.start <= by && event.end >= start);
  }

  /** Whether an entry is certainly forgotten when a request is sent. */
  isForgotten({ of, discovery, handOuts }: Entry, at: number): boolean {
    if (discovery === undefined || this.mayBeLost(discovery.event, at)) return false;
    const queued = Math.min(discovery.event.end, ...handOuts.map(({ attempt }) => attempt.end));
    return of.forgets.some(
      ({ event, word }) =>
        word === 'forgotten' && queued < event.start && event.end < at && !this.mayBeLost(event, at),
    );
  }
}

/** The lease itself, and the calls that have or may have extended it. */
function termsOf(hold: Hold): Term[] {
  const extensions = hold.settlings.filter((told) => mayHaveDone(told, 'extend'));
  const terms = extensions.map(({ event: { start, end, operation } }) => ({
    ...{ start, end, seconds: operation.seconds },
  }));
  return [hold, ...terms];
}
