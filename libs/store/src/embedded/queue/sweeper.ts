import type { Clock } from '../../clock.js';
import { REST_FACTOR, SWEEP_AFTER_MS } from '../../sweeping.js';
import { after } from '../../timers.js';
import type { Commits } from '../journal/commits.js';
import type { FilterState } from '../filters/filter-state.js';
import { knowsHosts } from './host-lanes.js';
import { Jobs } from './jobs.js';
import { removeUnkept, renewLanes, sweepQueue, type SweptStore } from './sweep-queue.js';

/** A sweep begins immediately if a queue has more marks than `maxMarks`, and than its entries divided by this. */
const PART_OF_ENTRIES = 8;

type Slices = Generator<void, void, undefined>;

/** The parts of a session that a sweeper uses. */
interface SweptSession extends SweptStore {
  readonly commits: Commits;
  keep(state: FilterState): void;
}

/**
 * Removes forgotten entries from queues with marks (see ../../sweeping.ts), and what dropped hosts have left. Works in
 * the background, one slice per transaction. Entries are also checked whenever they move, so for the marks and drops at
 * the start of a sweep, one pass over the entries of that time is enough. After a crash, all marks still exist, and the
 * sweep starts over.
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
  /** For each queue that waits for its sweep, cancels the timer. */
  private readonly planned = new Map<FilterState, () => void>();
  /** When each queue's rest ends, by the monotonic clock. */
  private readonly rests = new WeakMap<FilterState, number>();
  /** Settles with the last slice that a job has requested. One runs at a time, so that calls wait for at most one. */
  private last: Promise<unknown> = Promise.resolve();
  private stopped = false;

  constructor(
    private readonly session: SweptSession,
    private readonly maxMarks: number,
    private readonly clock: Clock,
  ) {}

  /** Call it when marks were added or a host was dropped, and at a start. */
  consider(state: FilterState): void {
    // A sweep considers its queue again at its end.
    if (!this.sweeps.has(state)) this.decide(state);
  }

  /**
   * Call it when a sync was committed. Deletes the lanes of hosts without entries, unless the sync kept URLs of these
   * hosts. After a crash, lanes are deleted when they are used.
   */
  renewLanes(state: FilterState): void {
    if (!knowsHosts(state) || state.filter.perHost.maxUrls === undefined) return;
    void this.renewals.start(state);
  }

  /**
   * Call it when a sync was committed, and at a start. Removes the scheduled entries that the commit has voided, and
   * resolves when they are gone.
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
      // The next slice may belong to another set.
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
