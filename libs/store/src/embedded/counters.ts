import type { Positions } from '#bloom';
import { assertCounting, assertPayloads } from '../refusals.js';
import type { Counters, Filter, Operation } from '../store.js';
import { Added, Removed } from '../store.js';
import { addBatch, checkBatch, countBatch, refuseOverflow, removeBatch, type Outcome } from './batches.js';
import type { Engine } from './engine.js';
import type { FilterState } from './filter-state.js';
import { JournalOperation } from './journal.js';
import type { Change, Session } from './session.js';
import { hashBytes } from './queue-entry.js';
import { TodoQueue } from './todo-queue.js';
import { ADD, REMOVE } from './verbs.js';

/** See the port for what each method promises. */
export class EmbeddedCounters implements Counters {
  constructor(private readonly engine: Engine) {}

  async add(
    filter: Filter,
    positions: Positions,
    operation: Operation,
    payloads?: readonly string[],
  ): Promise<Uint8Array> {
    if (payloads) assertPayloads(filter, payloads, positions.count);
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.once({ scope, verb: ADD, operation }, () => {
          refuseOverflow(scope, positions);
          const outcome = addBatch(scope, positions);
          if (payloads) {
            const queue = new TodoQueue(session.database, scope);
            outcome.answers.forEach((answer, i) => {
              if (answer === Added.New) queue.push(hashBytes(positions.hash, i), payloads[i] as string);
            });
          }
          return journaled(session, scope, JournalOperation.Add, positions, outcome);
        });
      },
      { grows: true, deadline: operation.deadline, items: positions.count },
    );
  }

  async check(filter: Filter, positions: Positions, deadline?: number): Promise<Uint8Array> {
    return this.engine.read((memory) => checkBatch(memory.current(filter), positions), deadline);
  }

  async remove(filter: Filter, positions: Positions, operation: Operation): Promise<Uint8Array> {
    assertCounting(filter);
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.once({ scope, verb: REMOVE, operation }, () => {
          const outcome = removeBatch(scope, positions);
          if (filter.kind === 'visited-set') {
            const queue = new TodoQueue(session.database, scope);
            outcome.answers.forEach((answer, i) => {
              if (answer === Removed.Removed) queue.remove(hashBytes(positions.hash, i));
            });
          }
          return journaled(session, scope, JournalOperation.Remove, positions, outcome);
        });
      },
      { deadline: operation.deadline, items: positions.count },
    );
  }

  async count(filter: Filter, positions: Positions, deadline?: number): Promise<Uint8Array> {
    assertCounting(filter);
    return this.engine.read((memory) => countBatch(memory.current(filter), positions), deadline);
  }
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
