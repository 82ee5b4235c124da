import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { assertSameRows, TOLERANCE, type Baseline, type Fall } from './guard-limits.js';
import type { GuardOptions } from './guard-options.js';
import { guardGroups } from './guard-rows.js';
import { measureBaseline, runGuard } from './guard-run.js';
import { busyShare } from './process-usage.js';
import { thisMachine } from './report.js';

const FILE = 'test/bench/guard-baseline.json';

/** Compares this build with the committed ratios, or writes them. Returns the exit code: 1 if a row failed. */
export async function guard({ update }: GuardOptions): Promise<number> {
  if (process.platform !== 'linux') {
    console.log(`the guard is skipped: it reads /proc, which ${process.platform} does not have`);
    return 0;
  }
  const groups = guardGroups();
  if (update) {
    const old = existsSync(FILE) ? readBaseline().ratios : {};
    const ratios = await measureBaseline(groups, old, (line) => console.log(line));
    const baseline: Baseline = { date: new Date().toISOString(), machine: thisMachine(), ratios };
    writeFileSync(FILE, `${JSON.stringify(baseline, undefined, 2)}\n`);
    return 0;
  }
  const baseline = readBaseline();
  assertSameRows(
    groups.flatMap(({ rows }) => rows),
    baseline.ratios,
  );
  const fallen = await runGuard(groups, baseline.ratios, (line) => console.log(line), busyShare);
  for (const fall of fallen) console.error(failure(fall));
  if (fallen.length > 0) console.error(provenance(baseline));
  return fallen.length > 0 ? 1 : 0;
}

function readBaseline(): Baseline {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Baseline;
}

function failure({ row, baseline, measured, limit }: Fall): string {
  const [was, is, most] = [baseline, measured, limit].map((value) => value.toPrecision(3));
  return `FELL ${row}: baseline ${was}, measured ${is}, limit ${most} (${100 * TOLERANCE} % above the baseline)`;
}

function provenance({ date, machine }: Baseline): string {
  const here = thisMachine();
  return (
    `The baseline is of ${date.slice(0, 10)}, Node ${machine.node}, Redis ${machine.redis}; ` +
    `here are Node ${here.node}, Redis ${here.redis}.`
  );
}
