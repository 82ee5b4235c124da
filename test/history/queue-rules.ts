import type { Doubts } from './queue-doubts.js';
import { isFinal, mayHaveDone, type Entry, type HandOut, type Hold } from './queue-entries.js';
import { leasedBy, levelOf, type QueueHistory } from './queue-history.js';

/** The parts of a history that are about all its entries. */
export type Run = Omit<QueueHistory, 'attempts'>;

/** Something that no correct queue does with an entry, whatever the calls' order. */
export interface Rule {
  /** The fault of an entry that breaks the rule. */
  readonly broken: string;
  readonly breaks: (entry: Entry, doubts: Doubts, run: Run) => boolean;
}

const DONE: ReadonlySet<string | undefined> = new Set(['acked', 'released', 'extended']);

export const RULES: readonly Rule[] = [
  {
    broken: 'was new twice without being forgotten in between',
    breaks({ of, discovery }, doubts) {
      if (discovery?.word !== 'new' || doubts.mayBeLost(discovery.event)) return false;
      return of.entries.some(({ discovery: next }) => {
        if (next?.word !== 'new' || next === discovery || next.event.start < discovery.event.start)
          return false;
        const end = Math.max(discovery.event.end, next.event.end);
        const between = of.forgets.some(
          ({ event }) => event.start <= end && event.end >= discovery.event.start,
        );
        return !between && !doubts.mayBeLost(next.event);
      });
    },
  },
  {
    broken: 'was handed out for a discovery that did not queue it',
    breaks({ discovery, handOuts }, doubts) {
      if (discovery === undefined) return handOuts.length > 0;
      if (discovery.word === 'seen' && !doubts.mayBeLost(discovery.event)) return handOuts.length > 0;
      return handOuts.some(({ attempt }) => attempt.end < discovery.event.start);
    },
  },
  {
    broken: 'is gone without being acknowledged or forgotten',
    breaks({ of, discovery, holds, handOuts }, doubts, { drainedFrom }) {
      if (drainedFrom === undefined) return false;
      if (discovery?.word !== 'new' || doubts.mayBeLost(discovery.event)) return false;
      if (of.forgets.some(({ event }) => event.end >= discovery.event.start)) return false;
      const tried = holds.some(({ settlings }) =>
        settlings.some((told) => isFinal(told) && mayHaveDone(told, 'ack')),
      );
      return !tried && !handOuts.some(({ attempt }) => attempt.start >= drainedFrom);
    },
  },
  {
    broken: 'was handed out after it had been acknowledged',
    breaks({ holds, handOuts }, doubts) {
      return acksOf(holds).some(({ event }) =>
        handOuts.some(({ attempt }) => attempt.start > event.end && !doubts.mayBeLost(event, attempt.end)),
      );
    },
  },
  {
    broken: 'was acknowledged twice',
    breaks({ holds }, doubts) {
      return (
        new Set(
          acksOf(holds)
            .filter(({ event }) => !doubts.mayBeLost(event))
            .map(({ event }) => event),
        ).size > 1
      );
    },
  },
  {
    broken: 'was handed out after it had been forgotten',
    breaks: (entry, doubts) => entry.handOuts.some(({ attempt }) => doubts.isForgotten(entry, attempt.start)),
  },
  {
    broken: 'was held by two leases at the same time',
    breaks({ holds }, doubts) {
      const mayFollow = (earlier: Hold, later: Hold) =>
        earlier.start <= later.end && doubts.mayBeOver(earlier, later.end);
      return holds.some((a, i) => holds.slice(i + 1).some((b) => !mayFollow(a, b) && !mayFollow(b, a)));
    },
  },
  {
    broken: 'was leased again without counting the attempt',
    breaks: ({ holds }, doubts) =>
      holds.some((a) =>
        holds.some(
          (b) =>
            a.end < b.start &&
            a.leased.attempt >= b.leased.attempt &&
            !holds.some((hold) => hold.start < b.end && mayBeUncounted(hold)) &&
            !doubts.mayBeLost(a, b.end),
        ),
      ),
  },
  {
    broken: 'was settled by a lease that had ended',
    breaks: ({ holds }, doubts) =>
      holds.some((hold) =>
        hold.settlings.some(({ event, word }) => DONE.has(word) && doubts.isOver(hold, event.start)),
      ),
  },
  {
    broken: 'could not be settled by the lease that held it',
    breaks: ({ holds }, doubts) =>
      holds.some((hold) =>
        hold.settlings.some(
          ({ event, word }) =>
            word !== undefined && !DONE.has(word) && !doubts.mayBeOver(hold, event.end, event),
        ),
      ),
  },
  {
    broken: 'was unknown under its lease without being forgotten',
    breaks: ({ holds }, doubts) =>
      holds.some((hold) =>
        hold.settlings.some(
          ({ event, word }) =>
            word === 'unknown' &&
            !doubts.mayBeForgotten(hold, event.end) &&
            !doubts.mayBeLost(hold, event.end),
        ),
      ),
  },
  {
    broken: 'was handed out by the repeat of a lease that had ended',
    breaks: ({ holds, handOuts }, doubts) =>
      holds.some((hold) =>
        handOuts.some(
          ({ attempt, leased }) =>
            leased.id === hold.leased.id &&
            attempt.operation === hold.event.operation &&
            doubts.isOver(hold, attempt.start),
        ),
      ),
  },
  {
    broken: 'was omitted by the repeat of a lease that held it',
    breaks: ({ holds }, doubts) =>
      holds.some(
        (hold) =>
          !mayHaveLeasedMore(hold) &&
          hold.event.attempts.some(
            (repeat) =>
              repeat.outcome === 'ok' &&
              repeat.start > hold.end &&
              !leasedBy(repeat).some(({ id }) => id === hold.leased.id) &&
              !doubts.mayBeOver(hold, repeat.end),
          ),
      ),
  },
  {
    broken: 'was handed out before its time',
    breaks({ discovery, holds }, doubts) {
      const { delaySeconds = 0 } = discovery?.event.operation ?? {};
      const isEarly = (hold: Hold) =>
        discovery?.word === 'new' && !doubts.mayBeDue(discovery.event, delaySeconds, hold.end);
      if (holds.some(isEarly)) return true;
      return holds.some(({ settlings }) =>
        settlings.some(
          ({ event, word }) =>
            (word === 'acked' || word === 'released') &&
            holds.some(
              (next) => next.start > event.end && !doubts.mayBeDue(event, event.operation.seconds, next.end),
            ),
        ),
      );
    },
  },
  {
    broken: 'was leased before its host was due',
    breaks({ of: { host }, holds }, doubts, { perHost, liftedFrom = Infinity }) {
      const { delaySeconds = 0 } = perHost ?? {};
      const released = host.holds.flatMap(({ settlings }) =>
        settlings.filter(({ word }) => word === 'released'),
      );
      return holds.some((hold) => {
        if (hold.end >= liftedFrom) return false;
        const isTooSoon = (other: Hold) =>
          !doubts.mayBeDue(other, delaySeconds, hold.end) && !doubts.mayBeDue(hold, delaySeconds, other.end);
        if (host.holds.some((other) => other !== hold && isTooSoon(other))) return true;
        return released.some(
          ({ event }) =>
            hold.start > event.end && !doubts.mayBeDue(event, event.operation.hostSeconds ?? 0, hold.end),
        );
      });
    },
  },
  {
    broken: 'was leased beyond the limit of its host',
    breaks({ of: { host }, holds }, doubts, { perHost, liftedFrom = Infinity }) {
      const { maxLeased = Infinity } = perHost ?? {};
      return holds.some((hold) => {
        if (hold.end >= liftedFrom || doubts.mayBeLost(hold)) return false;
        const others = host.holds.filter(
          (other) =>
            other !== hold && !doubts.mayBeOver(other, hold.end) && !doubts.mayBeOver(hold, other.end),
        );
        return others.length >= maxLeased;
      });
    },
  },
  {
    broken: 'was handed out after an entry of its host with a lower priority',
    breaks(entry, doubts, { perHost, drainedFrom = Infinity }) {
      const level = levelIn(entry, doubts);
      const drained = perHost && firstFrom(entry, drainedFrom);
      if (!drained || level === undefined) return false;
      // The queue may notice that an entry has come back only after the first of these leases. A release may not have
      // counted.
      const { delaySeconds = 0 } = entry.discovery?.event.operation ?? {};
      const wasLeased = entry.handOuts.some(({ attempt }) => attempt.start < drainedFrom);
      if (wasLeased || drained.leased.attempt > 1 || delaySeconds > 0) return false;
      return entry.of.host.entries.some((other) => {
        const first = firstFrom(other, drainedFrom);
        return first && precedes(first, drained) && (levelIn(other, doubts) ?? 0) > level;
      });
    },
  },
];

function acksOf(holds: readonly Hold[]) {
  return holds.flatMap(({ settlings }) => settlings.filter((told) => isFinal(told) && told.word === 'acked'));
}

/** Whether a lease may not count as an attempt, or whether attempts may be counted from zero again after it. */
function mayBeUncounted({ settlings }: Hold): boolean {
  return settlings.some(
    (told) =>
      (mayHaveDone(told, 'ack') && !isFinal(told)) ||
      (mayHaveDone(told, 'release') && told.event.operation.isUncounted === true),
  );
}

/** An entry's level. Undefined if it may have been queued otherwise. */
function levelIn({ discovery }: Entry, doubts: Doubts): number | undefined {
  if (discovery?.word !== 'new' || doubts.mayBeLost(discovery.event)) return undefined;
  return levelOf(discovery.event.operation);
}

/** The first answer from a time on that has an entry. */
function firstFrom({ handOuts }: Entry, from: number): HandOut | undefined {
  return handOuts
    .filter(({ attempt }) => attempt.start >= from)
    .sort((a, b) => a.attempt.end - b.attempt.end)[0];
}

/** Whether an entry was certainly leased before another one. */
function precedes(one: HandOut, other: HandOut): boolean {
  if (one.attempt !== other.attempt) return one.attempt.end < other.attempt.start;
  const leased = leasedBy(one.attempt);
  return leased.indexOf(one.leased) < leased.indexOf(other.leased);
}

/**
 * Whether a lease's overlapping requests may together have leased more than its limit. A repeat returns at most the
 * limit, so it omits some entries that the lease holds.
 */
function mayHaveLeasedMore({ event: { operation, attempts }, end }: Hold): boolean {
  const told = new Set(attempts.flatMap(leasedBy).map(({ id }) => id));
  if (told.size > operation.max) return true;
  return attempts.some((other) => other.outcome !== 'ok' && other.start <= end);
}
