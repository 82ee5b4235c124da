import { number, table } from './report.js';
import type { Row } from './row.js';
import { median } from './statistics.js';
import { verdict, type Verdict } from './verdict.js';

/** One figure of a row, in two versions. */
export interface Compared {
  readonly row: string;
  readonly figure: string;
  /** One value per round. */
  readonly before: readonly number[];
  readonly after: readonly number[];
  /** Median after divided by median before. */
  readonly ratio: number;
  readonly verdict: Verdict;
}

interface ComparedFigure {
  readonly name: string;
  readonly better: 'less' | 'more';
  readonly of: (row: Partial<Row>) => number | undefined;
}

/** Doesn't compare the client's CPU, because both versions use this build's client. */
const FIGURES: readonly ComparedFigure[] = [
  { name: 'service µs', better: 'less', of: ({ cpu }) => cpu?.service },
  { name: 'Redis µs', better: 'less', of: ({ cpu }) => cpu?.server },
  { name: 'Redis µs relative to reference', better: 'less', of: ({ ratio }) => ratio?.value },
  { name: 'items/s', better: 'more', of: ({ itemsPerSecond }) => itemsPerSecond },
];

/** Compares runs of two versions, each with its rows. Leaves out rows and figures that only one version has. */
export function compareRuns(
  before: readonly (readonly Row[])[],
  after: readonly (readonly Row[])[],
): Compared[] {
  const named = (runs: readonly (readonly Row[])[], name: string) =>
    runs.flatMap((rows) => rows.filter((row) => row.name === name));
  return rowNames(before).flatMap((row) => compareFigures(row, named(before, row), named(after, row)));
}

/** Compares the rounds in one run of each version. A figure measured once counts as one round. */
export function compareReports(before: readonly Row[], after: readonly Row[]): Compared[] {
  const rounds = (rows: readonly Row[], name: string) =>
    rows.filter((row) => row.name === name).flatMap((row): readonly Partial<Row>[] => row.rounds ?? [row]);
  return rowNames([before]).flatMap((row) => compareFigures(row, rounds(before, row), rounds(after, row)));
}

function rowNames(runs: readonly (readonly Row[])[]): string[] {
  return [...new Set(runs.flat().map(({ name }) => name))];
}

function compareFigures(
  row: string,
  before: readonly Partial<Row>[],
  after: readonly Partial<Row>[],
): Compared[] {
  return FIGURES.flatMap(({ name, better, of }) => {
    const values = (rounds: readonly Partial<Row>[]) => rounds.map(of).filter((value) => value !== undefined);
    const sides = { before: values(before), after: values(after) };
    if (sides.before.length === 0 || sides.after.length === 0) return [];
    return {
      ...{ row, figure: name, ...sides },
      ratio: median(sides.after) / median(sides.before),
      verdict: verdict(sides.before, sides.after, better),
    };
  });
}

/** A Markdown table: medians and ranges over rounds, their ratio, and the verdict. */
export function comparisonTable(compared: readonly Compared[]): string {
  return table(
    ['row', 'figure', 'before', 'after', 'after / before', 'verdict'],
    compared.map(({ row, figure, before, after, ratio, verdict }) => [
      ...[row, figure, spread(before), spread(after), ratio.toFixed(3), verdict],
    ]),
  );
}

function spread(values: readonly number[]): string {
  const middle = number(median(values));
  return values.length < 2
    ? middle
    : `${middle} (${number(Math.min(...values))} – ${number(Math.max(...values))})`;
}
