import { BadEntry } from '#client';
import type { Run } from '../sources/runs.js';

/** The entries of sources as a list, in which a fault is an entry, too; and where they are in the sources. */
export class Places {
  /** Runs whose entries may be asked about, with the numbers of entries before them and up to their ends. */
  private readonly runs: { readonly from: number; readonly end: number; readonly run: Run }[] = [];

  /** `done`: the number of entries at the beginning that are not asked about. */
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

  /** Where an entry is in the sources, for people; undefined if it has no place. */
  of(entry: number): string | undefined {
    const found = this.runs.find(({ from, end }) => from <= entry && entry < end);
    return found?.run.placeOf?.(entry - found.from);
  }

  /** Entries before this one are not asked about any more. Their lines are no longer held in memory. */
  forget(entry: number): void {
    while (this.runs[0] && this.runs[0].end <= entry) this.runs.shift();
  }
}
