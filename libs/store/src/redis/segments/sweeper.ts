import type { Clock } from '../../clock.js';
import { deadlineIn } from '../../clock.js';
import { StaleFilterError, StoreError } from '../../errors.js';
import { SWEEP_AFTER_MS } from '../../sweeping.js';
import { after } from '../../timers.js';
import type { RedisFilter } from '../layout/filter.js';
import { LANES_PER_SCRIPT } from '../scripts/host-lanes.js';
import type { Segments } from './segments.js';

/**
 * Approximate number of entries that one sweep step reads. In a per-host queue, each entry may be in a different lane.
 */
export const sweptPerScript = ({ perHost }: RedisFilter): number => (perHost ? LANES_PER_SCRIPT : 250);

/**
 * How many entries a sweep reads for each mark added meanwhile. A sweep begins when the marks are an eighth of the
 * entries, so at this speed it ends before as many new marks exist.
 */
const SWEPT_PER_MARK = 8;

/** A sweep to begin later. */
interface Plan {
  filter: RedisFilter;
  readonly segments: Set<number>;
  /** Monotonic time. */
  at: number;
  cancel: () => void;
}

export interface SweeperOptions {
  readonly segments: Segments;
  readonly clock: Clock;
  /** This instance's id, in hexadecimal. */
  readonly id: string;
  /** Opens a visited set from the catalogue. */
  readonly open: (name: string) => Promise<RedisFilter>;
  /** Time for one step, in ms. */
  readonly timeoutMs: number;
}

/**
 * Sweeps queues with old marks (../../sweeping.ts), one after another. The instances agree through Redis which of them
 * sweeps a queue, and when. If that instance ends first, the next one that removes items or describes the set sweeps
 * instead.
 */
export class Sweeper {
  /** Planned sweeps, by generation. */
  private readonly plans = new Map<string, Plan>();
  private readonly due = new Set<Plan>();
  private running: Promise<void> | undefined;
  private closed = false;

  constructor(private readonly options: SweeperOptions) {}

  /** Call it when these segments' queues have marks, or entries of dropped hosts. */
  marked(filter: RedisFilter, segments: Iterable<number>, waitMs = SWEEP_AFTER_MS): void {
    if (this.closed) return;
    const { clock } = this.options;
    const at = clock.monotonic() + waitMs;
    const known = this.plans.get(filter.generation);
    const plan = known ?? { filter, segments: new Set(), at: Infinity, cancel: () => undefined };
    for (const segment of segments) plan.segments.add(segment);
    if (plan.at <= at) return;
    plan.cancel();
    plan.at = at;
    plan.cancel = after(clock, waitMs, () => this.begin(plan));
    this.plans.set(filter.generation, plan);
  }

  /** Continues a segment's sweep in proportion to the marks that a change has added. */
  async goOn(filter: RedisFilter, segment: number, marks: number, deadline: number): Promise<void> {
    let left = marks * SWEPT_PER_MARK;
    const step = sweptPerScript(filter);
    for (let more: boolean | number = true; more === true && left > 0; left -= step) {
      more = await this.options.segments.sweep(filter, segment, step, deadline);
    }
  }

  close(): void {
    this.closed = true;
    for (const { cancel } of this.plans.values()) cancel();
    this.plans.clear();
    this.due.clear();
  }

  private begin(plan: Plan): void {
    this.plans.delete(plan.filter.generation);
    this.due.add(plan);
    this.running ??= this.run().finally(() => {
      this.running = undefined;
    });
  }

  private async run(): Promise<void> {
    for (const plan of this.due) {
      for (const segment of plan.segments) {
        const wait = await this.sweep(plan, segment).catch(waitAfter);
        if (wait !== undefined) this.marked(plan.filter, [segment], wait);
      }
      this.due.delete(plan);
    }
  }

  /** Returns how long to wait before sweeping the segment again, in ms, or undefined if it has no marks. */
  private async sweep(plan: Plan, segment: number): Promise<number | undefined> {
    const { segments, clock, id, timeoutMs } = this.options;
    const began = clock.monotonic();
    while (!this.closed) {
      const turn = { id, takenMs: Math.round(clock.monotonic() - began) };
      try {
        const more = await segments.sweep(
          plan.filter,
          segment,
          sweptPerScript(plan.filter),
          deadlineIn(timeoutMs),
          turn,
        );
        if (more !== true) return more || undefined;
      } catch (error) {
        if (!(error instanceof StaleFilterError)) throw error;
        const fresh = await this.options.open(plan.filter.name);
        // A generation's marks are deleted with it.
        if (fresh.generation !== plan.filter.generation || fresh === plan.filter) return undefined;
        plan.filter = fresh;
      }
    }
    return undefined;
  }
}

/**
 * How long to wait after an error, in ms. Undefined if the queue is gone or damaged, which the next call on it will
 * report.
 */
function waitAfter(error: unknown): number | undefined {
  return error instanceof StoreError && error.code === 'STORE_UNAVAILABLE' ? SWEEP_AFTER_MS : undefined;
}
