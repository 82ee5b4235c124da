import { SYSTEM_CLOCK, type Clock, type ClockShift } from '#store';

/**
 * Real time plus an offset that tests move. Tests need not sleep, and a lease lasts as long on a slow machine as on a
 * fast one.
 */
export class MovedClock implements Clock, ClockShift {
  aheadMs = 0;
  private passedMs = 0;
  private readonly listeners = new Set<() => void>();

  get shift(): ClockShift {
    return this;
  }

  // These are properties because callers detach them from the object.
  readonly now = (): number => SYSTEM_CLOCK.now() + this.aheadMs;
  readonly monotonic = (): number => SYSTEM_CLOCK.monotonic() + this.passedMs;

  /** Moves the time by `ms`. A negative number sets the wall clock back and leaves the monotonic clock alone. */
  advance(ms: number): void {
    this.aheadMs += ms;
    this.passedMs += Math.max(0, ms);
    for (const moved of [...this.listeners]) moved();
  }

  /** Moves the time to the start of the next period of `ms`, so no period ends during a test. */
  toStartOf(ms: number): void {
    this.advance(ms - (this.now() % ms));
  }

  onMove(moved: () => void): () => void {
    this.listeners.add(moved);
    return () => this.listeners.delete(moved);
  }
}
