import type { FilterState } from './filter-state.js';

/** A cache of the first rows of recently used queues. Reading a row copies and checks all of it. */
export class HeadRows {
  private readonly rows = new Map<FilterState, { readonly number: number; readonly bytes: Buffer }>();

  /** `most`: maximum number of rows, each of another queue. */
  constructor(private readonly most: number) {}

  get(state: FilterState, number: number, read: () => Buffer): Buffer {
    const known = this.rows.get(state);
    if (known?.number === number) return known.bytes;
    const bytes = read();
    this.rows.delete(state);
    this.rows.set(state, { number, bytes });
    if (this.rows.size > this.most) this.forget(this.rows.keys().next().value as FilterState);
    return bytes;
  }

  forget(state: FilterState): void {
    this.rows.delete(state);
  }
}
