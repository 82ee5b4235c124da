import type { Filter, FilterSpec } from '../../port/index.js';
import { encodeEntry } from '../filters/catalogue-entry.js';
import { FilterState } from '../filters/filter-state.js';
import { GENERATION_BYTES } from '../database/keys.js';
import type { Session } from '../engine/session.js';

/** A filter with this spec and a new generation. */
export function newGeneration({ now, random }: Session, spec: FilterSpec, seed: Uint8Array): Filter {
  const generation = random.id(GENERATION_BYTES);
  const { segments } = spec.geometry;
  return { ...spec, seed: Uint8Array.from(seed), generation, createdAt: now, base: 0, spread: segments };
}

/** Publishes a generation under its name. All `cells` must be zero. Call it inside a transaction. */
export function publish(session: Session, filter: Filter, cells: readonly Uint8Array[]): void {
  publishState(session, new FilterState(filter, cells, session.now, session.database.sizes));
}

/** Like `publish`, for a filter whose cells and queue are already in the database. */
export function publishState(session: Session, state: FilterState): void {
  const { filter } = state;
  session.memory.filters.set(filter.name, state);
  describeAnew(session, state);
  session.save(state);
}

/** Writes a filter's catalogue entry. Call it inside a transaction. */
export function describeAnew({ database }: Session, state: FilterState): void {
  database.catalogue.putSync(Buffer.from(state.filter.name), encodeEntry(state));
}

/** Removes a generation from the catalogue. Its data is deleted in the background. Call it inside a transaction. */
export function withdraw(session: Session, state: FilterState): void {
  session.memory.filters.delete(state.filter.name);
  session.database.catalogue.removeSync(Buffer.from(state.filter.name));
  session.purger.generation(state.key);
}
