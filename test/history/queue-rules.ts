import type { Doubts } from './queue-doubts.js';
import type { Entry, Hold } from './queue-entries.js';
import { leasedBy } from './queue-history.js';

/** Something that no correct queue does with an entry, in any order of the calls. */
export interface Rule {
  /** The fault of an entry that breaks the rule. */
  readonly broken: string;
  /** `drainedFrom` is the start of the leases that took all remaining entries. */
  readonly breaks: (entry: Entry, doubts: Doubts, drainedFrom: number | undefined) => boolean;
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
    breaks({ of, discovery, holds, handOuts }, doubts, drainedFrom) {
      if (drainedFrom === undefined) return false;
      if (discovery?.word !== 'new' || doubts.mayBeLost(discovery.event)) return false;
      if (of.forgets.some(({ event }) => event.end >= discovery.event.start)) return false;
      const tried = holds.some(({ settlings }) =>
        settlings.some(({ event, word }) => event.operation.verb === 'ack' && (word ?? 'acked') === 'acked'),
      );
      return !tried && !handOuts.some(({ attempt }) => attempt.start >= drainedFrom);
    },
  },
  {
    broken: 'was handed out after it had been acknowledged',
    breaks({ holds, handOuts }, doubts) {
      const acks = holds.flatMap(({ settlings }) => settlings.filter(({ word }) => word === 'acked'));
      return acks.some(({ event }) =>
        handOuts.some(({ attempt }) => attempt.start > event.end && !doubts.mayBeLost(event, attempt.end)),
      );
    },
  },
  {
    broken: 'was acknowledged twice',
    breaks({ holds }, doubts) {
      const acks = holds.flatMap(({ settlings }) => settlings.filter(({ word }) => word === 'acked'));
      return new Set(acks.filter(({ event }) => !doubts.mayBeLost(event)).map(({ event }) => event)).size > 1;
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
          (b) => a.end < b.start && a.leased.attempt >= b.leased.attempt && !doubts.mayBeLost(a, b.end),
        ),
      ),
  },
  {
    broken: 'was settled by a lease that was over',
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
    broken: 'was handed out by the repeat of a lease that was over',
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
];

/**
 * Whether overlapping requests of a lease may together have leased more than its limit. A repeat returns at most the
 * limit, so it omits some of the entries that the lease holds.
 */
function mayHaveLeasedMore({ event: { operation, attempts }, end }: Hold): boolean {
  const told = new Set(attempts.flatMap(leasedBy).map(({ id }) => id));
  if (told.size > operation.max) return true;
  return attempts.some((other) => other.outcome !== 'ok' && other.start <= end);
}
