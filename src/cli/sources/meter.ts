import type { Meter } from './runs.js';

/** Counts the bytes of all sources as they are read. */
export class SourceMeter implements Meter {
  read = 0;
  private known = 0;
  private unknown = 0;

  /** A source of so many bytes is there to be read; undefined if nobody knows. */
  expect(size: number | undefined): void {
    if (size === undefined) this.unknown++;
    else this.known += size;
  }

  get total(): number | undefined {
    return this.unknown > 0 ? undefined : this.known;
  }
}
