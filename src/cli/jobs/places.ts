import { BadEntry } from '#client';
import type { Run } from '../sources/runs.js';

/** Numbers all entries of all sources, including faults, and knows their places. */
export class Places {
  /**
   * Runs whose places may still be needed. `from` and `end`: the numbers of a run's first entry and of the entry after
   * the run.
   */
  private readonly runs: { readonly from: number; readonly end: number; readonly run: Run }[] = [];

  /** `done`: how many entries at the start need no places. */
  async *entriesOf(
    runs: AsyncIterable<Run>,
    done: number,
  ): AsyncGenerator<readonly string[] | BadEntry, void, undefined> {
    let from = 0;
    for await (const run of runs) {
      const end = from + run.items.length;
      if (end > done) this.runs.push({ from, end, run });
      from = end;
      yield run.items;
      if (run.fault === undefined) continue;
      from++;
      yield new BadEntry(run.fault);
    }
  }

  /** An entry's place in the sources, for people. Undefined if it has none. */
  of(entry: number): string | undefined {
    const found = this.runs.find(({ from, end }) => from <= entry && entry < end);
    return found?.run.placeOf?.(entry - found.from);
  }

  /** Frees the memory of the entries before `entry`, whose places aren't needed any more. */
  forget(entry: number): void {
    while (this.runs[0] && this.runs[0].end <= entry) this.runs.shift();
  }
}
