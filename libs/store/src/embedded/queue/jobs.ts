import { setImmediate } from 'node:timers/promises';
import type { FilterState } from '../filters/filter-state.js';

/**
 * Background work of one kind. A set has at most one job of each kind. The job works again if more work became due in
 * the meantime.
 */
export class Jobs {
  private readonly due = new Set<FilterState>();
  private readonly running = new Map<FilterState, Promise<void>>();

  constructor(private readonly work: (state: FilterState) => Promise<void>) {}

  /** Starts a set's job unless it is running. Resolves when the job has done the work or failed. */
  start(state: FilterState): Promise<void> {
    this.due.add(state);
    const job = this.running.get(state) ?? this.run(state);
    this.running.set(state, job);
    return job;
  }

  /** True while a set has a job. */
  has(state: FilterState): boolean {
    return this.running.has(state);
  }

  /** Resolves when no job is running. */
  async ended(): Promise<void> {
    for (const job of this.running.values()) await job;
  }

  private async run(state: FilterState): Promise<void> {
    // Let the caller's transaction end first, because no other one may begin inside it.
    await setImmediate();
    try {
      while (this.due.delete(state)) await this.work(state);
    } catch {
      // A commit failed. The next call reloads the memory and makes a new sweeper.
      this.due.delete(state);
    } finally {
      this.running.delete(state);
    }
  }
}
