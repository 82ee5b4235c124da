import { SYSTEM_CLOCK, type Clock, type ClockShift } from '#store';

/**
 * Real time plus the time by which tests have moved it. So tests need not sleep, and a lease is as long on a slow
 * machine as on a fast one.
 */
export class MovedClock implements Clock, ClockShift {
  aheadMs = 0;
  private passedMs = 0;
  private readonly listeners = new Set<() => void>();

  get shift(): ClockShift {
    return this;
  }

  // Properties, because callers take them out of the object.
  readonly now = (): number => SYSTEM_CLOCK.now() + this.aheadMs;
  readonly monotonic = (): number => SYSTEM_CLOCK.monotonic() + this.passedMs;

  /** Moves the time by so many ms. A negative number sets the machine's clock back, which moves no monotonic time. */
  advance(ms: number): void {
    this.aheadMs += ms;
    this.passedMs += Math.max(0, ms);
    for (const moved of [...this.listeners]) moved();
  }

  /** Moves the time to where the next period of so many ms begins, so that none ends while a test runs. */
  toStartOf(ms: number): void {
    this.advance(ms - (this.now() % ms));
  }

  onMove(moved: () => void): () => void {
    this.listeners.add(moved);
    return () => this.listeners.delete(moved);
  }
}
