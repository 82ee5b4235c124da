import { itemOf, type Line } from '../lines/lines.js';

/** How far a job has come. */
export interface Progress {
  /** Of the files, read so far. */
  readonly bytes: number;
  /** That have been answered. */
  readonly lines: number;
  /** By word. */
  readonly counts: ReadonlyMap<string, number>;
  readonly first: readonly Row[];
  readonly invalid: readonly Row[];
}

/** What became of a line. */
export interface Row {
  /** From 1, without those that are empty. */
  readonly line: number;
  readonly item: string;
  readonly result: string;
  /** Why it is not valid. */
  readonly reason?: string | undefined;
}

/** Before the first block is answered. */
export const NOTHING: Progress = { bytes: 0, lines: 0, counts: new Map(), first: [], invalid: [] };

/** Of so many lines it is shown what became of them; of the others the file tells. */
export const MOST_ROWS = 100;

/** Counts what became of lines. */
export class Tally {
  private bytes = 0;
  private lines = 0;
  private readonly counts = new Map<string, number>();
  private first: readonly Row[] = [];
  private invalid: readonly Row[] = [];

  read(bytes: number): void {
    this.bytes += bytes;
  }

  /** `results`: a word per line. `reasons`: why lines are not valid, by their places. */
  add(lines: readonly Line[], results: readonly string[], reasons: ReadonlyMap<number, string>): void {
    const row = (i: number): Row => ({
      line: this.lines + i + 1,
      item: itemOf(lines[i] as Line),
      result: results[i] as string,
      reason: reasons.get(i),
    });
    for (const result of results) this.counts.set(result, (this.counts.get(result) ?? 0) + 1);
    const shown = Math.min(lines.length, MOST_ROWS - this.first.length);
    this.first = [...this.first, ...Array.from({ length: shown }, (_, i) => row(i))];
    const faults = [...reasons.keys()].slice(0, MOST_ROWS - this.invalid.length);
    this.invalid = [...this.invalid, ...faults.map(row)];
    this.lines += lines.length;
  }

  now(): Progress {
    const { bytes, lines, first, invalid } = this;
    return { bytes, lines, counts: new Map(this.counts), first, invalid };
  }
}
