import { setImmediate } from 'node:timers/promises';
import type { Commits } from '../journal/commits.js';
import type { FilterState } from '../filters/filter-state.js';
import { sweepQueue, type SweptStore } from './sweep-queue.js';

/** A sweep is due when more is noted than this part of the entries, and than the bound. */
const PART_OF_ENTRIES = 8;

/** The parts of a session that a sweeper uses. */
interface SweptSession extends SweptStore {
  readonly commits: Commits;
  keep(state: FilterState): void;
}

/**
 * Takes forgotten entries out of queues that have too many marks: in the background, a slice a transaction. An entry that moves
 * is looked at as it moves, so that one pass over what is there when a sweep begins is enough for the marks of then. After a
 * crash all marks are there, and it begins anew.
 */
export class Sweeper {
  private readonly due = new Set<FilterState>();
  private running: Promise<void> | undefined;
  private stopped = false;

  constructor(
    private readonly session: SweptSession,
    private readonly maxMarks: number,
  ) {}

  /** To be called when marks were added. */
  consider(state: FilterState): void {
    const { marks, held } = state.queue;
    if (marks.size <= Math.max(this.maxMarks, held / PART_OF_ENTRIES)) return;
    this.due.add(state);
    this.running ??= this.run().finally(() => {
      this.running = undefined;
    });
  }

  /** Ends after the slice under way. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  private async run(): Promise<void> {
    // Called inside a transaction, in which none may be begun.
    await setImmediate();
    try {
      for (const state of this.due) {
        await this.sweep(state);
        this.due.delete(state);
      }
    } catch {
      // A commit failed: memory is loaded anew, and with it this.
      this.due.clear();
    }
  }

  private async sweep(state: FilterState): Promise<void> {
    const { commits, memory } = this.session;
    const slices = sweepQueue(this.session, state);
    while (!this.stopped) {
      const done = await commits.run(() => {
        if (memory.filters.get(state.filter.name) !== state || state.lost) return true;
        const { done = false } = slices.next();
        this.session.keep(state);
        return done;
      });
      if (done) return;
    }
  }
}
