import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../clock.js';
import { REST_FACTOR, SWEEP_AFTER_MS } from '../../sweeping.js';
import { after } from '../../timers.js';
import type { Commits } from '../journal/commits.js';
import type { FilterState } from '../filters/filter-state.js';
import { knowsHosts } from './host-lanes.js';
import { removeUnkept, renewLanes, sweepQueue, type SweptStore } from './sweep-queue.js';

/** A sweep begins immediately if a queue has more than `maxMarks` marks, and more than its entries divided by this. */
const PART_OF_ENTRIES = 8;

/** The parts of a session that a sweeper uses. */
interface SweptSession extends SweptStore {
  readonly commits: Commits;
  keep(state: FilterState): void;
}

/**
 * Removes forgotten entries from queues that have marks (see ../../sweeping.ts), and what dropped hosts have left, in
 * the background, one slice per transaction. An entry is also checked whenever it moves, so one pass over the entries
 * that exist when a sweep begins is enough for the marks and drops of that moment. After a crash, all marks still
 * exist, and the sweep starts over.
 */
export class Sweeper {
  private readonly due = new Set<FilterState>();
  /** Cancels the timer of each queue that waits for its sweep. */
  private readonly planned = new Map<FilterState, () => void>();
  /** The end of each queue's rest, by the monotonic clock. */
  private readonly rests = new WeakMap<FilterState, number>();
  /** Sets with lanes whose counts may all be zero. */
  private readonly renewed = new Set<FilterState>();
  /** Sets with scheduled entries that a sync may have made void. */
  private readonly unkept = new Set<FilterState>();
  private running: Promise<void> | undefined;
  private stopped = false;

  constructor(
    private readonly session: SweptSession,
    private readonly maxMarks: number,
    private readonly clock: Clock,
  ) {}

  /** Call it when marks were added, and at a start. */
  consider(state: FilterState): void {
    const { marks, held, isUnswept } = state.queue;
    if (!isUnswept || this.stopped) return;
    if (marks.size > Math.max(this.maxMarks, held / PART_OF_ENTRIES)) this.begin(state);
    else if (!this.planned.has(state)) this.plan(state);
  }

  /** Call it when dead letters or scheduled entries were dropped. */
  sweepSoon(state: FilterState): void {
    this.due.add(state);
    this.start();
  }

  /**
   * Call it when a sync was committed: lanes of hosts without entries are deleted unless it kept URLs of these hosts.
   * After a crash, they are deleted when they are used.
   */
  renewLanes(state: FilterState): void {
    if (!knowsHosts(state) || state.filter.perHost.maxUrls === undefined) return;
    this.renewed.add(state);
    this.start();
  }

  /**
   * Call it when a sync was committed, and at a start: removes the scheduled entries that the commit has made void.
   * Resolves when they are removed.
   */
  async removeUnkept(state: FilterState): Promise<void> {
    if (state.queue.unkeptUntil === 0) return;
    this.unkept.add(state);
    this.start();
    await this.running;
  }

  /** Stops after the current slice. */
  async stop(): Promise<void> {
    this.stopped = true;
    for (const cancel of this.planned.values()) cancel();
    this.planned.clear();
    await this.running;
  }

  private plan(state: FilterState): void {
    const rest = (this.rests.get(state) ?? 0) - this.clock.monotonic();
    const begin = () => {
      this.planned.delete(state);
      if (state.queue.isUnswept) this.begin(state);
    };
    this.planned.set(state, after(this.clock, Math.max(SWEEP_AFTER_MS, rest), begin));
  }

  private begin(state: FilterState): void {
    this.due.add(state);
    this.start();
  }

  private start(): void {
    this.running ??= this.run().finally(() => {
      this.running = undefined;
    });
  }

  private async run(): Promise<void> {
    // The caller is inside a transaction, where no other may begin.
    await setImmediate();
    try {
      while (this.due.size + this.renewed.size + this.unkept.size > 0 && !this.stopped) {
        for (const state of this.unkept) {
          await this.inSlices(state, removeUnkept(this.session, state));
          if (state.queue.unkeptUntil === 0 || !this.isCurrent(state)) this.unkept.delete(state);
        }
        for (const state of this.due) {
          await this.sweep(state);
          this.due.delete(state);
          this.planned.get(state)?.();
          this.planned.delete(state);
          if (this.isCurrent(state)) this.consider(state);
        }
        for (const state of this.renewed) {
          if (knowsHosts(state)) await this.inSlices(state, renewLanes(this.session, state));
          this.renewed.delete(state);
        }
      }
    } catch {
      // A commit failed: memory is reloaded, and a new sweeper with it.
      this.due.clear();
      this.renewed.clear();
      this.unkept.clear();
    }
  }

  private async sweep(state: FilterState): Promise<void> {
    const began = this.clock.monotonic();
    await this.inSlices(state, sweepQueue(this.session, state));
    const ended = this.clock.monotonic();
    this.rests.set(state, ended + REST_FACTOR * (ended - began));
  }

  private async inSlices(state: FilterState, slices: Generator<void, void, undefined>): Promise<void> {
    const { commits } = this.session;
    while (!this.stopped) {
      const done = await commits.run(() => {
        if (!this.isCurrent(state)) return true;
        const { done = false } = slices.next();
        this.session.keep(state);
        return done;
      });
      if (done) return;
    }
  }

  private isCurrent(state: FilterState): boolean {
    return this.session.memory.filters.get(state.filter.name) === state && !state.lost;
  }
}
