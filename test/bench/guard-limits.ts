import type { Machine } from './report.js';

/** Each row's CPU relative to its yardstick in the same run, by row name. Less is better. */
export type Ratios = Readonly<Record<string, number>>;

/** A row's and its yardstick's CPU, each the minimum over rounds, in µs per item. */
export interface Cost {
  readonly row: number;
  readonly yardstick: number;
}

/** By row name. */
export type Costs = Readonly<Record<string, Cost>>;

/**
 * For each part of each row, the lower of two costs. Other processes can only add CPU to a piece of work, so the
 * minimum of many measurements is closest to its true cost (Chen and Revels 2016).
 */
export function least(some: Costs, others: Costs): Costs {
  const merged: Record<string, Cost> = { ...some };
  for (const [row, cost] of Object.entries(others)) {
    const known = merged[row] ?? cost;
    merged[row] = {
      row: Math.min(known.row, cost.row),
      yardstick: Math.min(known.yardstick, cost.yardstick),
    };
  }
  return merged;
}

export function ratiosOf(costs: Costs): Ratios {
  return Object.fromEntries(Object.entries(costs).map(([row, cost]) => [row, cost.row / cost.yardstick]));
}

/** The values for the guard to compare with, written by `npm run bench -- --guard --update`. */
export interface Baseline {
  readonly date: string;
  readonly machine: Machine;
  readonly ratios: Ratios;
}

/** How far a row may exceed its baseline, as a share of it. */
export const TOLERANCE = 0.3;

/** A row that exceeds its limit. */
export interface Fall {
  readonly row: string;
  readonly baseline: number;
  readonly measured: number;
  readonly limit: number;
}

/** The rows that exceed their limit or were not measured (NaN). */
export function falls(rows: readonly string[], baseline: Ratios, measured: Ratios): Fall[] {
  return rows
    .map((row) => {
      const before = baseline[row] ?? NaN;
      return { row, baseline: before, measured: measured[row] ?? NaN, limit: before * (1 + TOLERANCE) };
    })
    .filter(({ measured: now, limit }) => !(now <= limit));
}

/** Throws unless the baseline has exactly these rows, because a row that is never compared guards nothing. */
export function assertSameRows(rows: readonly string[], baseline: Ratios): void {
  const missing = rows.filter((row) => !(row in baseline));
  const unknown = Object.keys(baseline).filter((row) => !rows.includes(row));
  if (missing.length + unknown.length === 0) return;
  const list = (names: readonly string[]) => names.join(', ') || 'none';
  throw new Error(
    `the baseline does not have the rows of the guard (missing: ${list(missing)}; unknown: ${list(unknown)}): ` +
      'npm run bench -- --guard --update',
  );
}
