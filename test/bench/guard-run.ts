import { falls, least, ratiosOf, type Costs, type Fall, type Ratios } from './guard-limits.js';

/** Rows that are measured together. */
export interface GuardGroup {
  readonly name: string;
  readonly rows: readonly string[];
  /** Why the group can't be measured here, or undefined if it can. */
  readonly unavailable?: () => string | undefined;
  measure(): Promise<Costs>;
}

/** A row fails only if the minimum costs of this many measurements exceed its limit. */
const ATTEMPTS = 5;
/** While others use more than this share of the CPU, they may raise a row's cost more than its yardstick's. */
const QUIET = 0.15;

/**
 * Measures every group, and again while a row exceeds its limit. Returns the rows that still exceed it, with their
 * ratios from the minimum costs. Doesn't judge these rows if other processes were busy during all measurements.
 *
 * `others` returns the share of the CPU, 0 to 1, that other processes use now.
 */
export async function runGuard(
  groups: readonly GuardGroup[],
  baseline: Ratios,
  say: (line: string) => void,
  others: () => Promise<number>,
): Promise<Fall[]> {
  const fallen: Fall[] = [];
  for (const group of available(groups, say)) {
    let costs: Costs = {};
    let open: Fall[] = [];
    let rows = group.rows;
    let leastBusy = 1;
    for (let attempt = 1; attempt <= ATTEMPTS && rows.length > 0; attempt++) {
      const before = await others();
      costs = least(costs, await group.measure());
      leastBusy = Math.min(leastBusy, Math.max(before, await others()));
      const measured = ratiosOf(costs);
      for (const row of rows) say(line(row, measured, baseline));
      open = falls(rows, baseline, measured);
      rows = open.map(({ row }) => row);
      if (rows.length > 0 && attempt < ATTEMPTS)
        say(`  beyond the limit, measured again: ${rows.join(', ')}`);
    }
    if (leastBusy <= QUIET) fallen.push(...open);
    else if (open.length > 0)
      say(`  not judged, because other processes used ${percent(leastBusy)} of the CPU: ${rows.join(', ')}`);
  }
  return fallen;
}

/**
 * Ratios for a new baseline, from the minimum costs in as many measurements as a row gets before it fails. Groups that
 * can't be measured keep their old ratios.
 */
export async function measureBaseline(
  groups: readonly GuardGroup[],
  old: Ratios,
  say: (line: string) => void,
): Promise<Ratios> {
  const kept = groups.flatMap(({ rows }) => rows).filter((row) => row in old);
  const ratios: Record<string, number> = Object.fromEntries(kept.map((row) => [row, old[row] ?? NaN]));
  for (const group of available(groups, say)) {
    const attempts: Costs[] = [];
    while (attempts.length < ATTEMPTS) attempts.push(await group.measure());
    const leastRatios = ratiosOf(attempts.reduce(least));
    for (const row of group.rows) {
      ratios[row] = Number((leastRatios[row] ?? NaN).toPrecision(3));
      const each = attempts.map((costs) => rounded(ratiosOf(costs)[row] ?? NaN));
      say(`${row}: ${ratios[row]} (${each.join(', ')})`);
    }
  }
  return ratios;
}

function available(groups: readonly GuardGroup[], say: (line: string) => void): GuardGroup[] {
  return groups.filter(({ name, unavailable }) => {
    const why = unavailable?.();
    if (why !== undefined) say(`${name}: skipped: ${why}`);
    return why === undefined;
  });
}

function line(row: string, measured: Ratios, baseline: Ratios): string {
  const [now, before] = [measured[row] ?? NaN, baseline[row] ?? NaN];
  return `${row}: ${rounded(now)}, baseline ${rounded(before)}: ${rounded((100 * now) / before)} %`;
}

const percent = (share: number) => `${Math.round(100 * share)} %`;

const rounded = (value: number) => String(Number(value.toPrecision(3)));
