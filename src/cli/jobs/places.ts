import { BadEntry } from '#client';
import type { Run } from '../sources/runs.js';

/** All entries in the sources, including faults, as one sequence, with their places. */
export class Places {
  /** Runs whose entries may still be needed, with the number of entries before each run and up to its end. */
  private readonly runs: { readonly from: number; readonly end: number; readonly run: Run }[] = [];

  /** `done`: how many entries at the beginning need no place. */
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

  /** Drops the lines of earlier entries from memory, because their places aren't needed any more. */
  forget(entry: number): void {
    while (this.runs[0] && this.runs[0].end <= entry) this.runs.shift();
  }
}
