import { MAX_LEASED_BYTES } from '../../port/index.js';
import type { Entry } from './entry.js';

/** A log from which entries can be taken. */
interface Log {
  takeWhile(wanted: (entry: Entry) => boolean): unknown;
}

/** Limits of one lease. */
export interface BasketOptions {
  readonly max: number;
  /** Maximum number of forgotten entries to skip. */
  readonly maxSkips: number;
  readonly isForgotten: (entry: Entry) => boolean;
}

/**
 * Collects the entries that one lease takes off the heads of logs. Also takes off the forgotten entries there, and
 * drops them.
 */
export class Basket {
  readonly entries: Entry[] = [];
  /** True once the lease has reached a limit and takes nothing more. */
  isFull = false;
  private bytes = 0;
  private skipped = 0;

  constructor(private readonly options: BasketOptions) {}

  /** Takes at most `most` entries off a log. Returns the number. */
  fill(log: Log, most = Infinity): number {
    const { max, maxSkips, isForgotten } = this.options;
    const { entries } = this;
    const before = entries.length;
    const end = Math.min(max, before + most);
    log.takeWhile((entry) => {
      if (entries.length >= end || this.skipped > maxSkips) return false;
      if (isForgotten(entry)) {
        this.skipped++;
        return true;
      }
      const bytes = this.bytes + entry.payloadBytes;
      if (entries.length > 0 && bytes > MAX_LEASED_BYTES) {
        this.isFull = true;
        return false;
      }
      this.bytes = bytes;
      entries.push(entry);
      return true;
    });
    this.isFull ||= entries.length === max || this.skipped > maxSkips;
    return entries.length - before;
  }
}
