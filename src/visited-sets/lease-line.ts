import { deadlineIn, every, type Clock, type LeasedEntry } from '#store';

/** Tries to lease; it has until the deadline, in ms since the epoch. */
export type Lease = (deadline: number) => Promise<LeasedEntry[]>;

/** How often a lease is tried though nothing woke the line: a wake-up may be lost, e.g. while a set is created again. */
const RETRY_MS = 5_000;

interface Waiter {
  readonly lease: Lease;
  readonly answer: (entries: LeasedEntry[]) => void;
  readonly fail: (error: unknown) => void;
  /** It waits no longer: a try that is under way is its last. */
  left: boolean;
}

interface LineOptions {
  /** Calls `wake` when there may be something to lease; ends with the function that it answers. */
  readonly watch: (wake: () => void) => () => void;
  /** How long a try may take. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** The last one has left. */
  readonly onEmpty: () => void;
}

/**
 * Leases that wait for the same queue. They are tried one after the other, first come first served, and only until one finds
 * nothing: what comes costs the store as many calls as there are entries to be had, however many wait.
 */
export class LeaseLine {
  private readonly waiters = new Set<Waiter>();
  private readonly unwatch: () => void;
  private readonly endRetries: () => void;
  private tried: Waiter | undefined;
  private woken = false;

  constructor(private readonly options: LineOptions) {
    this.unwatch = options.watch(() => this.wake());
    this.endRetries = every(options.clock, RETRY_MS, () => this.wake());
  }

  /** What the lease finds, or nothing once `left` is aborted. Throws what a try throws. */
  wait(lease: Lease, left: AbortSignal): Promise<LeasedEntry[]> {
    return new Promise((answer, fail) => {
      const waiter: Waiter = { lease, answer, fail, left: false };
      this.waiters.add(waiter);
      left.addEventListener('abort', () => this.leave(waiter), { once: true });
      // Something may have come between the try that found nothing and the watch.
      this.wake();
    });
  }

  /** Nobody waits any longer. */
  dismiss(): void {
    for (const waiter of this.waiters) this.leave(waiter);
  }

  private leave(waiter: Waiter): void {
    waiter.left = true;
    // What a try may have leased by now is answered.
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
      // There may be more for the next one.
      this.woken = true;
    } catch (error) {
      this.settle(waiter, () => waiter.fail(error));
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
