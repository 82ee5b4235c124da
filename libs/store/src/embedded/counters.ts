import type { Positions } from '#bloom';
import { assertCounting, assertPayloads } from '../refusals.js';
import type { Counters, Filter, Operation } from '../store.js';
import { addBatch, checkBatch, countBatch, layersNeeded, removeBatch, type Outcome } from './batches.js';
import type { Engine } from './engine.js';
import type { FilterState } from './filter-state.js';
import { layersFor, reserveNext } from './growth.js';
import { JournalOperation } from './journal.js';
import { TodoQueue } from './queue/todo-queue.js';
import type { Change, Session } from './session.js';
import { ADD, REMOVE } from './verbs.js';
import type { Watches } from './watches.js';

/** What an item costs that is queued or taken off a queue, in items without one. */
const QUEUED_ITEM_COST = 2;

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
    if (payloads) assertPayloads(filter, payloads, positions.count);
    const answers = await this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.once({ scope, verb: ADD, operation }, () => {
          const needed = layersNeeded(scope, positions);
          const outcome = addBatch(
            scope,
            positions,
            needed ? layersFor(scope, session.memory, needed, operation.quota) : undefined,
          );
          if (scope.next) void reserveNext(scope, session.memory, operation.quota);
          if (payloads) {
            const queue = new TodoQueue(session, scope);
            queue.push(positions.hash, outcome.answers, payloads, session.now);
            queue.flush();
          }
          return journaled(session, scope, JournalOperation.Add, outcome);
        });
      },
      { grows: true, deadline: operation.deadline, items: costOf(positions, payloads !== undefined) },
    );
    if (payloads) this.watches.wake(filter);
    return answers;
  }

  async check(filter: Filter, positions: Positions, deadline?: number): Promise<Uint8Array> {
    return this.engine.read((memory) => checkBatch(memory.current(filter), positions), deadline);
  }

  async remove(filter: Filter, positions: Positions, operation: Operation): Promise<Uint8Array> {
    assertCounting(filter);
    const queued = filter.kind === 'visited-set';
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.once({ scope, verb: REMOVE, operation }, () => {
          const outcome = removeBatch(scope, positions);
          if (queued) new TodoQueue(session, scope).forget(positions.hash, outcome.answers);
          return journaled(session, scope, JournalOperation.Remove, outcome);
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

function costOf({ count }: Positions, queued: boolean): number {
  return queued ? count * QUEUED_ITEM_COST : count;
}

function journaled(
  session: Session,
  state: FilterState,
  operation: JournalOperation,
  { answers, changes }: Outcome,
): Change<Uint8Array> {
  return { answer: answers, records: recordsOf(session, state, operation, changes) };
}

function* recordsOf(
  { journal }: Session,
  { key }: FilterState,
  operation: JournalOperation,
  changes: Outcome['changes'],
): Generator<Buffer, void, undefined> {
  for (const change of changes) yield journal.encode(key, operation, change);
}
