import type { Machine } from './report.js';

/** CPU of each row against its yardstick in the same run, by name of row. Less is better. */
export type Ratios = Readonly<Record<string, number>>;

/** The values that the guard compares with. `npm run bench -- --guard --update` writes them. */
export interface Baseline {
  readonly date: string;
  readonly machine: Machine;
  readonly ratios: Ratios;
}

/** How much more than its baseline a row may cost, as a share of the baseline. */
export const TOLERANCE = 0.3;

/** A row that exceeds its limit. */
export interface Fall {
  readonly row: string;
  readonly baseline: number;
  readonly measured: number;
  readonly limit: number;
}

/** The rows that were measured above their limit, or not measured at all (NaN). */
export function falls(rows: readonly string[], baseline: Ratios, measured: Ratios): Fall[] {
  return rows
    .map((row) => {
      const before = baseline[row] ?? NaN;
      return { row, baseline: before, measured: measured[row] ?? NaN, limit: before * (1 + TOLERANCE) };
    })
    .filter(({ measured: now, limit }) => !(now <= limit));
}

/** Throws unless the baseline has exactly these rows. A row that is never compared guards nothing. */
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
