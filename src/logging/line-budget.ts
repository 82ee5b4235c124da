import { SYSTEM_CLOCK } from '#store';

/** Allows a number of log lines per time span, and counts those left out. */
export class LineBudget {
  private began = -Infinity;
  private lines = 0;
  private leftOut = 0;

  constructor(
    private readonly most: number,
    private readonly spanMs: number,
  ) {}

  /** True if the budget can be discarded: its span has ended, and it has no left-out lines to report. */
  isUnused(now = SYSTEM_CLOCK.monotonic()): boolean {
    return this.leftOut === 0 && now - this.began >= this.spanMs;
  }

  /** If a line is allowed now, how many were left out since the last one. Otherwise undefined. */
  take(now = SYSTEM_CLOCK.monotonic()): number | undefined {
    if (now - this.began >= this.spanMs) {
      this.began = now;
      this.lines = 0;
    }
    if (this.lines >= this.most) {
      this.leftOut++;
      return undefined;
    }
    this.lines++;
    const { leftOut } = this;
    this.leftOut = 0;
    return leftOut;
  }
}
