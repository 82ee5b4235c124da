import { epochMs, EPOCHS_OF_AGE, lastsFor } from '../../age.js';
import { Hidden } from './hidden.js';

/** The time of a list of layers that ages. It never goes back. */
export class Ageing {
  readonly epochMs: number;
  readonly hidden: Hidden;
  /** While it is loaded: how many items were hidden when the state was written. */
  stored = 0;
  /** What was hidden until before this epoch has been deleted, or is being. */
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

  /** Whether another epoch has begun. */
  tick(now: number): boolean {
    this.now = now;
    return this.goOn(Math.floor(now / this.epochMs));
  }

  /** Whether that is later than the present. */
  goOn(epoch: number): boolean {
    if (epoch <= this.present) return false;
    this.present = epoch;
    this.hidden.advance(epoch);
    return true;
  }

  /** For how many epochs after the present an item is live that is added now, for so long or the whole age. */
  lasts(ttlMs = this.maxAgeMs): number {
    return lastsFor(this.present, this.now, ttlMs, this.epochMs);
  }

  /** For how many more epochs an item lives that was added at an earlier time, for the whole age: 0 at least. */
  lastsSince(at: number): number {
    const epochs = Math.floor((at + this.maxAgeMs) / this.epochMs) - this.present;
    return Math.min(EPOCHS_OF_AGE, Math.max(0, epochs));
  }
}
