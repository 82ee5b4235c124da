const BAR_WIDTH = 30;
const REDRAW_MS = 100;
const LABEL_WIDTH = 10;

/**
 * The stream that shows progress. On a terminal, the line is redrawn. Any other output gets a line when a step ends.
 */
export interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** One step's progress. */
export class Progress {
  private done = 0;
  private drawnAt = 0;
  private readonly startedAt = performance.now();

  /** `total` is the amount of work, or undefined while it is unknown. */
  constructor(
    private readonly output: ProgressOutput,
    private readonly label: string,
    private readonly total?: number,
  ) {}

  add(steps: number): void {
    this.done += steps;
    const now = performance.now();
    if (!this.output.isTTY || now - this.drawnAt < REDRAW_MS) return;
    this.drawnAt = now;
    this.output.write(`\r${this.line()}`);
  }

  /** Shows the step as done. Returns its duration in seconds. */
  end(): number {
    const seconds = (performance.now() - this.startedAt) / 1000;
    const line = `${this.line()} in ${seconds.toFixed(1)} s\n`;
    this.output.write(this.output.isTTY ? `\r${line}` : line);
    return seconds;
  }

  private line(): string {
    const count = `${this.label.padEnd(LABEL_WIDTH)} ${this.done.toLocaleString('en')} lines`;
    if (!this.output.isTTY || this.total === undefined) return count;
    const share = Math.min(1, this.done / Math.max(1, this.total));
    const full = Math.round(share * BAR_WIDTH);
    const bar = '#'.repeat(full) + '.'.repeat(BAR_WIDTH - full);
    return `${this.label.padEnd(LABEL_WIDTH)} [${bar}] ${String(Math.floor(share * 100)).padStart(3)} % ${this.done.toLocaleString('en')} lines`;
  }
}
