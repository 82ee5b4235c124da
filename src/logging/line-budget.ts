/** So many lines in a span of time, and a count of those that were left out. */
export class LineBudget {
  private began = -Infinity;
  private lines = 0;
  private leftOut = 0;

  constructor(
    private readonly most: number,
    private readonly spanMs: number,
  ) {}

  /** Whether it is as good as new: its span is over, and no line was left out that would have to be told of. */
  isUnused(now = performance.now()): boolean {
    return this.leftOut === 0 && now - this.began >= this.spanMs;
  }

  /** How many were left out since the last line, if there is room for one now; else undefined. */
  take(now = performance.now()): number | undefined {
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
