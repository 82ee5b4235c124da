import type { Machine } from './report.js';

/** CPU of a row against its yardstick in the same run, by the names of rows. Less is better. */
export type Ratios = Readonly<Record<string, number>>;

/** What the guard compares with: `npm run bench -- --guard --update` writes it. */
export interface Baseline {
  readonly date: string;
  readonly machine: Machine;
  readonly ratios: Ratios;
}

/** How much more than its baseline a row may cost, as a share of it. */
export const TOLERANCE = 0.3;

/** A row that costs too much. */
export interface Fall {
  readonly row: string;
  readonly baseline: number;
  readonly measured: number;
  readonly limit: number;
}

/** Those of `rows` that were measured beyond their limit, or not measured at all (NaN). */
export function falls(rows: readonly string[], baseline: Ratios, measured: Ratios): Fall[] {
  return rows
    .map((row) => {
      const before = baseline[row] ?? NaN;
      return { row, baseline: before, measured: measured[row] ?? NaN, limit: before * (1 + TOLERANCE) };
    })
    .filter(({ measured: now, limit }) => !(now <= limit));
}

/** Throws unless the baseline has exactly these rows: one that nobody compares guards nothing. */
export function assertSameRows(rows: readonly string[], baseline: Ratios): void {
  const missing = rows.filter((row) => !(row in baseline));
  const unknown = Object.keys(baseline).filter((row) => !rows.includes(row));
  if (missing.length + unknown.length === 0) return;
  const list = (names: readonly string[]) => names.join(', ') || 'none';
  throw new Error(
    `the baseline has not the rows of the guard (missing: ${list(missing)}; unknown: ${list(unknown)}): ` +
      'npm run bench -- --guard --update',
  );
}
