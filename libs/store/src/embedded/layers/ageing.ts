import { epochMs, EPOCHS_OF_AGE, lastsFor } from '../../age.js';
import { Hidden } from './hidden.js';

/** The time for layers that age. It never goes back. */
export class Ageing {
  readonly epochMs: number;
  readonly hidden: Hidden;
  /** Used while loading: how many items were hidden when the state was written. */
  stored = 0;
  /** Hidden items that expired before this epoch have been deleted, or are being deleted. */
  purgedTo = 0;
  private present = 0;
  private now = 0;

  constructor(
    readonly maxAgeMs: number,
    shownPerTable: number,
  ) {
    this.hidden = new Hidden(shownPerTable);
    this.epochMs = epochMs(maxAgeMs / 1_000);
  }

  get epoch(): number {
    return this.present;
  }

  /** Sets the time. Returns true if another epoch has begun. */
  tick(now: number): boolean {
    this.now = now;
    return this.goOn(Math.floor(now / this.epochMs));
  }

  /** Advances to an epoch. Returns false if it is not later than the current one. */
  goOn(epoch: number): boolean {
    if (epoch <= this.present) return false;
    this.present = epoch;
    this.hidden.advance(epoch);
    return true;
  }

  /**
   * For how many epochs after the current one an item added now stays live. `ttlMs`: its time to live. Default: the
   * maximum age.
   */
  lasts(ttlMs = this.maxAgeMs): number {
    return lastsFor(this.present, this.now, ttlMs, this.epochMs);
  }

  /** For how many epochs after the current one an item added at `at` for the maximum age is live. At least 0. */
  lastsSince(at: number): number {
    const epochs = Math.floor((at + this.maxAgeMs) / this.epochMs) - this.present;
    return Math.min(EPOCHS_OF_AGE, Math.max(0, epochs));
  }
}
