import { assertPerHost, otherExists } from '../../refusals.js';
import type { Filter, FilterKind, FilterSpec, Operation, Quota } from '../../port/index.js';
import { isSameFilter } from '../../same-filter.js';
import type { Engine } from '../engine/engine.js';
import { allocateCells, reserveCells } from '../layers/cell-memory.js';
import { CLEAR, CREATE, DROP } from '../operations/verbs.js';
import { newGeneration, publish, withdraw } from './generation.js';
import { Room } from './room.js';

/** Creates, clears and drops filters. See the port for each method's guarantees. */
export class LifeCycle {
  constructor(private readonly engine: Engine) {}

  async create(
    spec: FilterSpec,
    operation: Operation,
    quota?: Quota,
  ): Promise<{ filter: Filter; created: boolean }> {
    assertPerHost(spec);
    const room = new Room(spec, quota);
    try {
      return await this.createIn(room, spec, operation);
    } finally {
      room.leave();
    }
  }

  private async createIn(
    room: Room,
    spec: FilterSpec,
    operation: Operation,
  ): Promise<{ filter: Filter; created: boolean }> {
    // Reserves memory only if the creation is likely to succeed. Throws nothing if it isn't, since an earlier attempt
    // of this operation may have created the filter.
    const fits = await this.engine.read((memory) => !memory.filters.has(spec.name) && room.tryTake(memory));
    const reserved = fits ? await reserveCells(spec.geometry) : undefined;
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.names;
        return session.once({ scope, verb: CREATE, operation, subject: spec.name }, () => {
          const existing = session.memory.filters.get(spec.name)?.filter;
          if (existing && !isSameFilter(existing, spec)) throw otherExists(existing, spec);
          if (existing) return { answer: { filter: existing, created: false } };
          room.assert(session.memory);
          const filter = newGeneration(session, spec, spec.seed);
          const cells = reserved ?? allocateCells(spec.geometry);
          return { answer: { filter, created: true }, apply: () => publish(session, filter, cells) };
        });
      },
      { grows: true, deadline: operation.deadline },
    );
  }

  async drop(name: string, kind: FilterKind, operation: Operation): Promise<void> {
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.names;
        return session.once({ scope, verb: DROP, operation, subject: name }, () => {
          const state = session.memory.named(name, kind);
          return { answer: undefined, apply: () => withdraw(session, state) };
        });
      },
      { deadline: operation.deadline },
    );
  }

  async clear(name: string, kind: FilterKind, operation: Operation): Promise<Filter> {
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.names;
        return session.once({ scope, verb: CLEAR, operation, subject: name }, () => {
          const old = session.memory.named(name, kind);
          const filter = newGeneration(session, old.filter, session.random.seed());
          const cells = allocateCells(filter.geometry);
          const apply = (): void => {
            withdraw(session, old);
            publish(session, filter, cells);
          };
          return { answer: filter, apply };
        });
      },
      { deadline: operation.deadline },
    );
  }
}
