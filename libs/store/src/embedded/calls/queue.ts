import type {
  DeadLetterPage,
  EntryPage,
  EntryQuery,
  Filter,
  LeasedEntry,
  LeaseLimits,
  Operation,
  Queue,
  Release,
} from '../../port/index.js';
import { assertAgain, assertKnowsHosts, assertLimits } from '../../refusals.js';
import type { Engine } from '../engine/engine.js';
import { EntryPages } from '../queue/entry-pages.js';
import { deadLetterNumber } from '../queue/entry-ids.js';
import { TodoQueue, type Lease } from '../queue/todo-queue.js';
import type { QueueState } from '../filters/queue-state.js';
import type { Session } from '../engine/session.js';
import { isCopying, keepQueued } from '../syncs/keep.js';
import {
  ACK,
  DROP_ENTRIES,
  EXTEND,
  LEASE,
  PURGE,
  PUT_BACK,
  RELEASE,
  SEVERAL,
  type Verb,
} from '../operations/verbs.js';
import { partOf } from '../operations/parts.js';
import type { Watches } from './watches.js';

/** A call on a queue's entries. */
type Use = (queue: TodoQueue, ids: readonly string[], now: number) => Uint8Array;

/** See the port for each method's guarantees. */
export class EmbeddedQueue implements Queue {
  constructor(
    private readonly engine: Engine,
    private readonly watches: Watches,
  ) {}

  async lease(
    filter: Filter,
    max: number,
    leaseMs: number,
    operation: Operation,
    limits?: LeaseLimits,
  ): Promise<LeasedEntry[]> {
    assertLimits(filter, limits);
    for (;;) {
      const { entries, more } = await this.engine.mutate(
        (session) =>
          leaseIn(session, filter, (queue, now) => queue.lease(max, now, leaseMs, limits), operation),
        { deadline: operation.deadline, items: max },
      );
      if (!more) {
        // Entries may have come back to hosts that must wait.
        if (entries.length > 0 || filter.perHost) this.watches.reschedule(filter);
        return entries;
      }
    }
  }

  async ack(
    filter: Filter,
    ids: readonly string[],
    operation: Operation,
    againAfterMs?: number,
  ): Promise<Uint8Array> {
    assertAgain(filter, againAfterMs);
    const answers = await this.settle(filter, ids, ACK, operation, (queue, some, now) =>
      queue.ack(some, now, againAfterMs),
    );
    if (againAfterMs !== undefined) this.watches.reschedule(filter);
    return answers;
  }

  async release(
    filter: Filter,
    ids: readonly string[],
    operation: Operation,
    release?: Partial<Release>,
  ): Promise<Uint8Array> {
    const answers = await this.settle(filter, ids, RELEASE, operation, (queue, some, now) =>
      queue.release(some, now, release),
    );
    this.watches.joined(filter);
    return answers;
  }

  async extend(
    filter: Filter,
    ids: readonly string[],
    leaseMs: number,
    operation: Operation,
  ): Promise<Uint8Array> {
    const answers = await this.settle(filter, ids, EXTEND, operation, (queue, some, now) =>
      queue.extend(some, now, leaseMs),
    );
    this.watches.reschedule(filter);
    return answers;
  }

  watch(filter: Filter, wake: () => void): () => void {
    return this.watches.add(filter, wake);
  }

  async deadLetters(filter: Filter, limit: number, after?: string): Promise<DeadLetterPage> {
    return this.engine.mutate((session) =>
      new TodoQueue(session, session.memory.current(filter)).deadLetters(
        limit,
        deadLetterNumber(after, filter),
      ),
    );
  }

  async entries(filter: Filter, query: EntryQuery, limit: number, after?: string): Promise<EntryPage> {
    if (query.host !== undefined) assertKnowsHosts(filter);
    return this.engine.mutate((session) =>
      new EntryPages(session, session.memory.current(filter), session.now).page(query, limit, after),
    );
  }

  async drop(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array> {
    return this.settlePart(filter, ids, DROP_ENTRIES, operation, (queue, some) => queue.drop(some));
  }

  async record(filter: Filter, operation: Operation, answer: string): Promise<string> {
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.once({ scope, verb: SEVERAL, operation }, () => ({ answer }));
      },
      { deadline: operation.deadline },
    );
  }

  async recall(filter: Filter, operation: Operation): Promise<string | undefined> {
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.recall({ scope, verb: SEVERAL, operation })?.answer;
      },
      { deadline: operation.deadline },
    );
  }

  async putBack(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array> {
    const answers = await this.settle(filter, ids, PUT_BACK, operation, (queue, some, now) =>
      queue.putBack(some, now),
    );
    this.watches.joined(filter);
    return answers;
  }

  async purge(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array> {
    return this.settle(filter, ids, PURGE, operation, (queue, some) => queue.purge(some));
  }

  /** Makes a call on entries. Splits it into parts if each entry may be in a different lane. */
  private async settle(
    filter: Filter,
    ids: readonly string[],
    verb: Verb<Uint8Array>,
    operation: Operation,
    use: Use,
  ): Promise<Uint8Array> {
    const most = filter.perHost ? this.engine.sizes.hostsPerChange : Infinity;
    if (ids.length <= most) return this.settlePart(filter, ids, verb, operation, use);
    const answers = new Uint8Array(ids.length);
    for (let from = 0; from < ids.length; from += most) {
      const some = ids.slice(from, from + most);
      answers.set(await this.settlePart(filter, some, verb, partOf(operation, from), use), from);
    }
    return answers;
  }

  private settlePart(
    filter: Filter,
    ids: readonly string[],
    verb: Verb<Uint8Array>,
    operation: Operation,
    use: Use,
  ): Promise<Uint8Array> {
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.once({ scope, verb, operation }, () => {
          const queue = new TodoQueue(session, scope, isCopying(scope));
          const answer = use(queue, ids, session.now);
          queue.flush();
          // Once these entries are taken, the sync's copy of the queue can't find them, so keep them now.
          const kept = queue.taken.length > 0 && isCopying(scope) && keepQueued(session, scope, queue.taken);
          return { answer, ...(kept && { records: kept }) };
        });
      },
      { deadline: operation.deadline, items: ids.length },
    );
  }
}

/** The numbers that may change in a lease that finds nothing. */
function figuresOf({ held, dead, firstMark, leased, delayed, scheduled, lanes }: QueueState): number[] {
  return [held, dead, firstMark, leased, delayed, scheduled, lanes];
}

/** One transaction of a lease. `more`: the lease continues in another transaction. */
function leaseIn(
  session: Session,
  filter: Filter,
  take: (queue: TodoQueue, now: number) => Lease,
  operation: Operation,
): { entries: LeasedEntry[]; more: boolean } {
  const scope = session.memory.current(filter);
  const queue = new TodoQueue(session, scope);
  let found: { entries: LeasedEntry[]; more: boolean } | undefined;
  const number = session.once({ scope, verb: LEASE, operation }, () => {
    const before = figuresOf(scope.queue);
    const lease = take(queue, session.now);
    queue.flush();
    found = lease;
    if (lease.number > 0) return { answer: lease.number };
    // Even without leasing anything, the call may have dropped forgotten entries, marks and lanes, or created dead
    // letters. Entries may have come back to hosts that must wait.
    const after = figuresOf(scope.queue);
    if (after.some((figure, i) => figure !== before[i])) session.keep(scope);
    return { answer: 0, unrecorded: true };
  });
  return found ?? { entries: queue.heldBy(number, session.now), more: false };
}
