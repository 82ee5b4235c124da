import { oneLine } from '../ending.js';
import { number, type Progress } from './progress.js';

const SHOWN = 20;

/**
 * Writes entries that were not accepted to stderr, one per line: the first SHOWN of them, then the number of the
 * others.
 */
export class Complaints {
  private count = 0;

  constructor(
    private readonly output: { write(text: string): unknown } | undefined,
    private readonly progress: Progress,
  ) {}

  add(lines: readonly string[]): void {
    for (const line of lines) {
      this.count++;
      if (this.count > SHOWN || !this.output) continue;
      this.progress.clear();
      this.output.write(`${oneLine(line)}\n`);
    }
  }

  end(): void {
    if (this.count > SHOWN) this.output?.write(`and ${number(this.count - SHOWN)} more were refused\n`);
  }
}
