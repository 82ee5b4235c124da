import type { Clock } from '#store';

/** How many filters of each kind of caller may newly get series at a time, if none have for long. */
export const MOST_NEW_AT_ONCE = 100;
/** How many may newly get series in an hour, because Prometheus keeps each series for weeks. */
export const MOST_NEW_PER_HOUR = 50;
/** The share of one prefix. */
export const PREFIX_SHARE = 1 / 5;
/** Number of independent budgets. */
export const BUDGETS = 3;
const HOUR_MS = 3_600_000;

/**
 * How many filters may newly get series. There are three independent budgets: for filters that callers without a prefix
 * use, for those that callers with a prefix use, and for filters without calls. A prefix gets at most PREFIX_SHARE of
 * its budget. So a tenant takes no new series from callers without a prefix, and leaves other tenants most of theirs.
 */
export class NewSeries {
  private readonly unprefixed: Budget;
  private readonly prefixed: Budget;
  private readonly idle: Budget;
  /** Prefixes that have used a part of their share. Others have all of it. */
  private readonly shares = new Map<string, Budget>();

  constructor(private readonly clock: Clock) {
    [this.unprefixed, this.prefixed, this.idle] = [new Budget(clock), new Budget(clock), new Budget(clock)];
  }

  /** Number of prefixes in memory. The budget of all prefixes limits it. */
  get prefixes(): number {
    return this.shares.size;
  }

  /** Takes the series of a filter without calls. Returns false if there are none. */
  takeIdle(): boolean {
    return this.idle.take();
  }

  /** Takes the series of a filter for the callers with a prefix. Returns false if there are none. */
  take(prefix: string): boolean {
    if (prefix === '') return this.unprefixed.take();
    const known = this.shares.get(prefix);
    const share = known ?? new Budget(this.clock, PREFIX_SHARE);
    if (share.isEmpty || !this.prefixed.take()) return false;
    share.take();
    if (!known) this.remember(prefix, share);
    return true;
  }

  private remember(prefix: string, share: Budget): void {
    for (const [other, { isFull }] of this.shares) if (isFull) this.shares.delete(other);
    this.shares.set(prefix, share);
  }
}

/** A budget that fills by the hour. */
class Budget {
  private left: number;
  private filledAt: number;

  constructor(
    private readonly clock: Clock,
    /** Part of the usual limits. */
    private readonly share = 1,
  ) {
    this.left = this.most;
    this.filledAt = clock.monotonic();
  }

  get isEmpty(): boolean {
    this.fill();
    return this.left < 1;
  }

  get isFull(): boolean {
    this.fill();
    return this.left === this.most;
  }

  take(): boolean {
    if (this.isEmpty) return false;
    this.left--;
    return true;
  }

  private get most(): number {
    return MOST_NEW_AT_ONCE * this.share;
  }

  private fill(): void {
    const now = this.clock.monotonic();
    const hours = (now - this.filledAt) / HOUR_MS;
    this.left = Math.min(this.most, this.left + hours * MOST_NEW_PER_HOUR * this.share);
    this.filledAt = now;
  }
}
