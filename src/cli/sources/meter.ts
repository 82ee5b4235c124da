import type { Meter } from './runs.js';

/** Counts the bytes read from all sources. */
export class SourceMeter implements Meter {
  read = 0;
  private known = 0;
  private unknown = 0;

  /** Adds a source of `size` bytes, or of unknown size. */
  expect(size: number | undefined): void {
    if (size === undefined) this.unknown++;
    else this.known += size;
  }

  get total(): number | undefined {
    return this.unknown > 0 ? undefined : this.known;
  }
}
