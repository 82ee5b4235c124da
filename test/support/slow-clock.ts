import type { Clock } from '#store';
import { MovedClock } from './moved-clock.js';

/** After a sweep that takes this long, the rest is longer than the shortest one. */
const SLOW_MS = 2_000;

/** A moved clock by which each of a sweep's slices takes long while `isSlow`. */
export class SlowClock implements Clock {
  isSlow = false;
  /** How long slices have seemed to take, in addition to the real time. */
  passedMs = 0;
  readonly shift = new MovedClock();
  readonly now = this.shift.now;
  readonly monotonic = (): number => {
    if (this.isSlow) this.passedMs += SLOW_MS;
    return this.shift.monotonic() + this.passedMs;
  };

  advance(ms: number): void {
    this.shift.advance(ms);
  }
}
