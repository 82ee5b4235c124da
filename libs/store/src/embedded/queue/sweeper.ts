import type { Clock } from '../../clock.js';
import { REST_FACTOR, SWEEP_AFTER_MS } from '../../sweeping.js';
import { after } from '../../timers.js';
import type { Commits } from '../journal/commits.js';
import type { FilterState } from '../filters/filter-state.js';
import { knowsHosts } from './host-lanes.js';
import { Jobs } from './jobs.js';
import { removeUnkept, renewLanes, sweepQueue, type SweptStore } from './sweep-queue.js';

/** A queue is swept at once if it has more than `maxMarks` marks, and more than one mark for this many entries. */
const PART_OF_ENTRIES = 8;

type Slices = Generator<void, void, undefined>;

/** The parts of a session that a sweeper uses. */
interface SweptSession extends SweptStore {
  readonly commits: Commits;
  keep(state: FilterState): void;
}

/**
 * Removes forgotten entries from queues with marks (see ../../sweeping.ts), and the entries of dropped hosts. Works in
 * the background, one slice per transaction. Every move of an entry also checks the marks and drops, so one pass over
 * the entries that existed when a sweep began is enough. After a crash, all marks still exist, and the sweep starts
 * over.
 *
 * Sets take turns, slice by slice, so no set waits for another's whole sweep.
 */
export class Sweeper {
  private readonly sweeps = new Jobs((state) => this.sweep(state));
  private readonly renewals = new Jobs(async (state) => {
    if (knowsHosts(state)) await this.inSlices(state, renewLanes(this.session, state));
  });
  private readonly removals = new Jobs(async (state) => {
    if (state.queue.unkeptUntil > 0) await this.inSlices(state, removeUnkept(this.session, state));
  });
  /** Cancels the timer of each queue that waits for its sweep. */
  private readonly planned = new Map<FilterState, () => void>();
  /** When each queue's rest after its last sweep ends, by the monotonic clock. */
  private readonly rests = new WeakMap<FilterState, number>();
  /**
   * Settles with the last slice that a job has requested. Slices run one at a time, so a call waits for at most one
   * slice.
   */
  private last: Promise<unknown> = Promise.resolve();
  private stopped = false;

  constructor(
    private readonly session: SweptSession,
    private readonly maxMarks: number,
    private readonly clock: Clock,
  ) {}

  /** Call it after marks were added or a host was dropped, and after memory was loaded. */
  consider(state: FilterState): void {
    // A running sweep considers its queue again when it ends.
    if (!this.sweeps.has(state)) this.decide(state);
  }

  /**
   * Deletes the lanes of hosts without entries, unless the sync kept URLs of these hosts. Call it after a sync was
   * committed. If a crash interrupts this, lanes are deleted when they are used.
   */
  renewLanes(state: FilterState): void {
    if (!knowsHosts(state) || state.filter.perHost.maxUrls === undefined) return;
    void this.renewals.start(state);
  }

  /**
   * Removes the scheduled entries that a sync's commit has voided, and resolves when they are gone. Call it after a
   * sync was committed, and after memory was loaded.
   */
  async removeUnkept(state: FilterState): Promise<void> {
    if (state.queue.unkeptUntil > 0) await this.removals.start(state);
  }

  /** Stops after the current slice. */
  async stop(): Promise<void> {
    this.stopped = true;
    for (const cancel of this.planned.values()) cancel();
    this.planned.clear();
    for (const jobs of [this.sweeps, this.renewals, this.removals]) await jobs.ended();
  }

  private decide(state: FilterState): void {
    const { marks, held, isUnswept } = state.queue;
    if (!isUnswept || this.stopped) return;
    if (marks.size > Math.max(this.maxMarks, held / PART_OF_ENTRIES)) void this.sweeps.start(state);
    else if (!this.planned.has(state)) this.plan(state);
  }

  private plan(state: FilterState): void {
    const rest = (this.rests.get(state) ?? 0) - this.clock.monotonic();
    const begin = () => {
      this.planned.delete(state);
      if (state.queue.isUnswept) void this.sweeps.start(state);
    };
    this.planned.set(state, after(this.clock, Math.max(SWEEP_AFTER_MS, rest), begin));
  }

  private async sweep(state: FilterState): Promise<void> {
    this.planned.get(state)?.();
    this.planned.delete(state);
    const took = await this.inSlices(state, sweepQueue(this.session, state));
    this.rests.set(state, this.clock.monotonic() + REST_FACTOR * took);
    if (this.isCurrent(state)) this.decide(state);
  }

  /** Runs the slices, and returns how long they took, in ms. */
  private async inSlices(state: FilterState, slices: Slices): Promise<number> {
    for (let took = 0; ;) {
      const slice = this.last.then(() => this.slice(state, slices));
      // Continue even after an error, because the next slice may belong to another set.
      this.last = slice.catch(() => undefined);
      const { done, ms } = await slice;
      took += ms;
      if (done) return took;
    }
  }

  private async slice(state: FilterState, slices: Slices): Promise<{ done: boolean; ms: number }> {
    if (this.stopped) return { done: true, ms: 0 };
    const began = this.clock.monotonic();
    const done = await this.session.commits.run(() => {
      if (!this.isCurrent(state)) return true;
      const { done: isLast = false } = slices.next();
      this.session.keep(state);
      return isLast;
    });
    return { done, ms: this.clock.monotonic() - began };
  }

  private isCurrent(state: FilterState): boolean {
    return this.session.memory.filters.get(state.filter.name) === state && !state.lost;
  }
}
