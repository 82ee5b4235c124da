import { falls, type Fall, type Ratios } from './guard-limits.js';
import { median } from './statistics.js';

/** Ratios that are measured together. */
export interface GuardGroup {
  readonly name: string;
  readonly rows: readonly string[];
  /** Why the group cannot be measured here; undefined if it can. */
  readonly unavailable?: () => string | undefined;
  measure(): Promise<Ratios>;
}

/** Noise varies between attempts, but a slower program stays slow. A row fails only if it fails in all attempts. */
const ATTEMPTS = 5;
/** Measurements for a baseline. */
const MEASUREMENTS = 3;

/**
 * Measures every group, and measures it again while some row has not met its limit even once. Returns the rows that
 * never met theirs, as last measured.
 */
export async function runGuard(
  groups: readonly GuardGroup[],
  baseline: Ratios,
  say: (line: string) => void,
): Promise<Fall[]> {
  const fallen: Fall[] = [];
  for (const group of available(groups, say)) {
    let open: Fall[] = [];
    let rows = group.rows;
    for (let attempt = 1; attempt <= ATTEMPTS && rows.length > 0; attempt++) {
      const measured = await group.measure();
      for (const row of rows) say(line(row, measured, baseline));
      open = falls(rows, baseline, measured);
      rows = open.map(({ row }) => row);
      if (rows.length > 0 && attempt < ATTEMPTS)
        say(`  beyond the limit, measured again: ${rows.join(', ')}`);
    }
    fallen.push(...open);
  }
  return fallen;
}

/**
 * Ratios for a new baseline: medians of MEASUREMENTS measurements. Groups that cannot be measured keep their old
 * ratios.
 */
export async function measureBaseline(
  groups: readonly GuardGroup[],
  old: Ratios,
  say: (line: string) => void,
): Promise<Ratios> {
  const kept = groups.flatMap(({ rows }) => rows).filter((row) => row in old);
  const ratios: Record<string, number> = Object.fromEntries(kept.map((row) => [row, old[row] ?? NaN]));
  for (const group of available(groups, say)) {
    const attempts: Ratios[] = [];
    while (attempts.length < MEASUREMENTS) attempts.push(await group.measure());
    for (const row of group.rows) {
      const values = attempts.map((measured) => measured[row] ?? NaN);
      ratios[row] = Number(median(values).toPrecision(3));
      say(`${row}: ${values.map(rounded).join(', ')}`);
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

const rounded = (value: number) => String(Number(value.toPrecision(3)));
