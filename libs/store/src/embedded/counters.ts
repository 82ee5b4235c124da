import { slicePositions, type Positions } from '#bloom';
import { assertCounting, assertPayloads } from '../refusals.js';
import type { Counters, Filter, Operation } from '../store.js';
import { addBatch, checkBatch, countBatch, refuseOverflow, removeBatch, type Outcome } from './batches.js';
import type { Engine } from './engine.js';
import type { FilterState } from './filter-state.js';
import { JournalOperation } from './journal.js';
import type { Change, Session } from './session.js';
import { TodoQueue } from './queue/todo-queue.js';
import { ADD, REMOVE } from './verbs.js';
import type { Watches } from './watches.js';

/**
 * Items of a batch that change the queue in one transaction, so that the process is held for about 40 ms at most. A
 * queue entry takes 15 µs to write, and 40 µs to take out of a long queue.
 */
const QUEUED_ITEMS_A_GO = 1_000;
/** The cost of one such item, in items without a queue. */
const QUEUED_ITEM_COST = 10;

/** See the port for what each method promises. */
export class EmbeddedCounters implements Counters {
  constructor(
    private readonly engine: Engine,
    private readonly watches: Watches,
  ) {}

  async add(
    filter: Filter,
    positions: Positions,
    operation: Operation,
    payloads?: readonly string[],
  ): Promise<Uint8Array> {
    if (!payloads) return this.addPart(filter, { from: 0, operation, positions }, positions);
    assertPayloads(filter, payloads, positions.count);
    const answers = await inParts(positions, operation, (part) => {
      const queued = payloads.slice(part.from, part.from + part.positions.count);
      return this.addPart(filter, part, positions, queued);
    });
    this.watches.wake(filter);
    return answers;
  }

  /**
   * Adds one part of a batch. Before the first part it checks the whole batch: if that would be too much, nothing is
   * changed.
   */
  private addPart(
    filter: Filter,
    { from, operation, positions }: Part,
    batch: Positions,
    payloads?: readonly string[],
  ): Promise<Uint8Array> {
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.once({ scope, verb: ADD, operation }, () => {
          if (from === 0) refuseOverflow(scope, batch);
          const outcome = addBatch(scope, positions);
          if (payloads) {
            const queue = new TodoQueue(session, scope);
            queue.push(positions.hash, outcome.answers, payloads, session.now);
            queue.flush();
          }
          return journaled(session, scope, JournalOperation.Add, positions, outcome);
        });
      },
      { grows: true, deadline: operation.deadline, items: costOf(positions, payloads !== undefined) },
    );
  }

  async check(filter: Filter, positions: Positions, deadline?: number): Promise<Uint8Array> {
    return this.engine.read((memory) => checkBatch(memory.current(filter), positions), deadline);
  }

  async remove(filter: Filter, positions: Positions, operation: Operation): Promise<Uint8Array> {
    assertCounting(filter);
    if (filter.kind !== 'visited-set') return this.removePart(filter, positions, operation);
    return inParts(positions, operation, (part) => this.removePart(filter, part.positions, part.operation));
  }

  private removePart(filter: Filter, positions: Positions, operation: Operation): Promise<Uint8Array> {
    const queued = filter.kind === 'visited-set';
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.once({ scope, verb: REMOVE, operation }, () => {
          const outcome = removeBatch(scope, positions);
          if (queued) {
            const queue = new TodoQueue(session, scope);
            queue.forget(positions.hash, outcome.answers);
            queue.flush();
          }
          return journaled(session, scope, JournalOperation.Remove, positions, outcome);
        });
      },
      { deadline: operation.deadline, items: costOf(positions, queued) },
    );
  }

  async count(filter: Filter, positions: Positions, deadline?: number): Promise<Uint8Array> {
    assertCounting(filter);
    return this.engine.read((memory) => countBatch(memory.current(filter), positions), deadline);
  }
}

/** Some items of a batch, which are changed and recorded together. */
interface Part {
  /** Place of the part's first item in the batch. */
  readonly from: number;
  readonly positions: Positions;
  readonly operation: Operation;
}

/**
 * Changes a batch part by part, each under an operation of its own. A repeat of a batch that broke off finds what was
 * done and goes on from there. The first part has the request's id itself. No id of a request contains a space, so the
 * ids of the other parts are unique.
 */
async function inParts(
  positions: Positions,
  operation: Operation,
  change: (part: Part) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  const { count } = positions;
  if (count <= QUEUED_ITEMS_A_GO) return change({ from: 0, positions, operation });
  const answers = new Uint8Array(count);
  for (let from = 0; from < count; from += QUEUED_ITEMS_A_GO) {
    const to = Math.min(from + QUEUED_ITEMS_A_GO, count);
    const id = from === 0 ? operation.id : `${operation.id} /${from}`;
    const part = { from, positions: slicePositions(positions, from, to), operation: { ...operation, id } };
    answers.set(await change(part), from);
  }
  return answers;
}

function costOf({ count }: Positions, queued: boolean): number {
  return queued ? count * QUEUED_ITEM_COST : count;
}

function journaled(
  session: Session,
  state: FilterState,
  operation: JournalOperation,
  positions: Positions,
  { answers, changed }: Outcome,
): Change<Uint8Array> {
  if (changed.length === 0) return { answer: answers };
  const { pageCells } = state.filter.geometry;
  return {
    answer: answers,
    record: session.journal.encode(state.key, operation, positions, changed, pageCells),
  };
}
