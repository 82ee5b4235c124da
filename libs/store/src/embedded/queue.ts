import type { Filter, LeasedEntry, Operation, Queue } from '../store.js';
import type { Engine } from './engine.js';
import type { Change } from './session.js';
import { TodoQueue } from './todo-queue.js';
import { ACK, LEASE, RELEASE, type Verb } from './verbs.js';

/** See the port for what each method promises. */
export class EmbeddedQueue implements Queue {
  constructor(private readonly engine: Engine) {}

  async lease(filter: Filter, max: number, leaseMs: number, operation: Operation): Promise<LeasedEntry[]> {
    return this.execute(filter, LEASE, operation, (queue, now) => queue.lease(max, now, leaseMs));
  }

  async ack(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array> {
    return this.execute(filter, ACK, operation, (queue, now) => ({
      answer: Uint8Array.from(ids, (id) => queue.ack(id, now)),
    }));
  }

  async release(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array> {
    return this.execute(filter, RELEASE, operation, (queue, now) => ({
      answer: Uint8Array.from(ids, (id) => queue.release(id, now)),
    }));
  }

  private execute<T>(
    filter: Filter,
    verb: Verb<T>,
    operation: Operation,
    use: (queue: TodoQueue, now: number) => Change<T>,
  ): Promise<T> {
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.once({ scope, verb, operation }, () =>
          use(new TodoQueue(session.database, scope), session.now),
        );
      },
      { deadline: operation.deadline },
    );
  }
}
