import { itemOf, type Line } from '../lines/lines.js';

/** A job's progress. */
export interface Progress {
  /** Bytes read from the files so far. */
  readonly bytes: number;
  /** Number of lines with a result so far. */
  readonly lines: number;
  /** Lines by result word. */
  readonly counts: ReadonlyMap<string, number>;
  readonly first: readonly Row[];
  readonly invalid: readonly Row[];
}

/** A line's result. */
export interface Row {
  /** Line number from 1, not counting empty lines. */
  readonly line: number;
  readonly item: string;
  readonly result: string;
  /** Why the line is invalid. */
  readonly reason?: string | undefined;
}

/** The progress before the first answer. */
export const NOTHING: Progress = { bytes: 0, lines: 0, counts: new Map(), first: [], invalid: [] };

/** How many lines to show with their results. The result file contains all lines. */
export const MOST_ROWS = 100;

/** Counts lines' results. */
export class Tally {
  private bytes = 0;
  private lines = 0;
  private readonly counts = new Map<string, number>();
  private first: readonly Row[] = [];
  private invalid: readonly Row[] = [];

  read(bytes: number): void {
    this.bytes += bytes;
  }

  /** `results`: a word for each line. `reasons`: why lines are invalid, by their index. */
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
