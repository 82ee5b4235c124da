import { deadlineIn, every, StoreError, type Clock, type LeasedEntry } from '#store';
import { ProblemError } from '../errors/problem.js';

/** Tries to lease until the deadline, in ms since the epoch. */
export type Lease = (deadline: number) => Promise<LeasedEntry[]>;

/** How often to try without a wake-up. Wake-ups may get lost, for example while a set is re-created. */
const RETRY_MS = 5_000;
/** Errors that the next caller's attempt would get too. */
const CONCERNS_ALL: ReadonlySet<string> = new Set(['STORE_UNAVAILABLE', 'STORE_FULL', 'STORE_DATA_LOST']);

interface Waiter {
  readonly lease: Lease;
  readonly answer: (entries: LeasedEntry[]) => void;
  readonly fail: (error: unknown) => void;
  /** The caller has stopped waiting. An attempt in progress is its last. */
  left: boolean;
}

interface WaitersOptions {
  /** Calls `wake` when an entry may be available. The returned function ends the watch. */
  readonly watch: (wake: () => void) => () => void;
  /** Time limit for an attempt. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Called when the last caller has left. */
  readonly onEmpty: () => void;
}

/**
 * Callers that wait to lease from the same queue, first come, first served. Attempts run one after another. They stop
 * if one finds nothing, if the set is gone, or if the store is unavailable, full or has lost data. So each new entry
 * costs the store about one call, however many callers wait.
 */
export class LeaseWaiters {
  private readonly waiters = new Set<Waiter>();
  private readonly unwatch: () => void;
  private readonly endRetries: () => void;
  private tried: Waiter | undefined;
  private woken = false;

  constructor(private readonly options: WaitersOptions) {
    this.unwatch = options.watch(() => this.wake());
    this.endRetries = every(options.clock, RETRY_MS, () => this.wake());
  }

  /** Resolves with the leased entries, or with none once `left` is aborted. Rejects with an attempt's error. */
  wait(lease: Lease, left: AbortSignal): Promise<LeasedEntry[]> {
    return new Promise((answer, fail) => {
      const waiter: Waiter = { lease, answer, fail, left: false };
      this.waiters.add(waiter);
      left.addEventListener('abort', () => this.leave(waiter), { once: true });
      // An entry may have arrived after the attempt that found nothing and before the watch began.
      this.wake();
    });
  }

  /** Ends the wait for all callers. */
  dismiss(): void {
    for (const waiter of this.waiters) this.leave(waiter);
  }

  private leave(waiter: Waiter): void {
    waiter.left = true;
    // Keep the answer of an attempt in progress, because it may have leased entries.
    if (waiter !== this.tried && this.waiters.has(waiter)) this.settle(waiter, () => waiter.answer([]));
  }

  private wake(): void {
    this.woken = true;
    if (this.tried === undefined) void this.serve();
  }

  private async serve(): Promise<void> {
    for (let [waiter] = this.waiters; this.woken && waiter !== undefined; [waiter] = this.waiters) {
      await this.try(waiter);
    }
  }

  private async try(waiter: Waiter): Promise<void> {
    this.woken = false;
    this.tried = waiter;
    try {
      const entries = await waiter.lease(deadlineIn(this.options.timeoutMs));
      if (entries.length === 0 && !waiter.left) return;
      this.settle(waiter, () => waiter.answer(entries));
      // More entries may be available for the next caller.
      this.woken = true;
    } catch (error) {
      // The set is gone for all callers. Another attempt could find a new set with the same name.
      const failed = isGone(error) ? this.waiters : [waiter];
      for (const each of failed) this.settle(each, () => each.fail(error));
      // Other errors may concern only this caller.
      this.woken ||= !(error instanceof StoreError && CONCERNS_ALL.has(error.code));
    } finally {
      this.tried = undefined;
    }
  }

  private settle(waiter: Waiter, how: () => void): void {
    this.waiters.delete(waiter);
    how();
    if (this.waiters.size > 0) return;
    this.endRetries();
    this.unwatch();
    this.options.onEmpty();
  }
}

function isGone(error: unknown): boolean {
  return error instanceof ProblemError && error.code === 'VISITED_SET_NOT_FOUND';
}
