import { setImmediate } from 'node:timers/promises';
import type { Commits } from '../journal/commits.js';
import type { FilterState } from '../filters/filter-state.js';
import { sweepQueue, type SweptStore } from './sweep-queue.js';

/** A sweep is due when a queue has more marks than its entries divided by this, and more than `maxMarks`. */
const PART_OF_ENTRIES = 8;

/** The parts of a session that a sweeper uses. */
interface SweptSession extends SweptStore {
  readonly commits: Commits;
  keep(state: FilterState): void;
}

/**
 * Removes forgotten entries from queues that have too many marks, in the background, one slice per transaction. An
 * entry is also checked whenever it moves, so one pass over the entries that exist when a sweep begins is enough for
 * the marks of that moment. After a crash, all marks still exist, and the sweep starts over.
 */
export class Sweeper {
  private readonly due = new Set<FilterState>();
  private running: Promise<void> | undefined;
  private stopped = false;

  constructor(
    private readonly session: SweptSession,
    private readonly maxMarks: number,
  ) {}

  /** Call it when marks were added. */
  consider(state: FilterState): void {
    const { marks, held } = state.queue;
    if (marks.size <= Math.max(this.maxMarks, held / PART_OF_ENTRIES)) return;
    this.due.add(state);
    this.running ??= this.run().finally(() => {
      this.running = undefined;
    });
  }

  /** Stops after the current slice. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  private async run(): Promise<void> {
    // The caller is inside a transaction, where no other may begin.
    await setImmediate();
    try {
      for (const state of this.due) {
        await this.sweep(state);
        this.due.delete(state);
      }
    } catch {
      // A commit failed: memory is reloaded, and a new sweeper with it.
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
