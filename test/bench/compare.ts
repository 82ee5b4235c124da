import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compareReports, compareRuns, comparisonTable } from './comparison.js';
import type { CommitOptions, CompareOptions } from './compare-options.js';
import { embeddedGroup } from './embedded-rows.js';
import { redisGroup } from './redis-rows.js';
import { frameworkGroup } from './framework-rows.js';
import type { Report } from './report.js';
import type { Row } from './row.js';
import { redisSingleGroup, singleGroup } from './single-rows.js';
import { streamGroup } from './stream-rows.js';
import { PROGRAM_VARIABLE } from './service.js';
import { buildVersion, OWN_VERSION, type Version } from './version.js';

/** How long each part of a round warms up, in seconds. Short, because there are many rounds. */
const WARM_UP_SECONDS = 2;
const BENCH = fileURLToPath(new URL('main.js', import.meta.url));

/** Groups whose service may be a different version. All other groups measure this build's libraries in this process. */
const GROUPS = [embeddedGroup, streamGroup, singleGroup, frameworkGroup, redisGroup, redisSingleGroup];

/** Prints the difference of each figure between two versions or two results. */
export async function compare(options: CompareOptions): Promise<void> {
  if (options.of === 'commits') return compareVersions(options);
  const [before, after] = [readReport(options.before), readReport(options.after)];
  console.log(comparisonTable(compareReports(before.rows, after.rows)));
  const [one, other] = [before, after].map(({ machine, quick }) => JSON.stringify({ ...machine, quick }));
  if (one !== other) console.log(`\nMeasured differently: ${one} before, ${other} after.`);
}

/** Measures both versions over REST with this build's driver. Each round uses new processes for driver and service. */
async function compareVersions(options: CommitOptions): Promise<void> {
  const groups = GROUPS.map(({ name }) => name).filter((name) => options.rows.test(name));
  if (groups.length === 0) {
    throw new Error(`--rows matches none of: ${GROUPS.map(({ name }) => name).join(', ')}`);
  }
  const folder = mkdtempSync(join(tmpdir(), 'unseen-compare-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const before = buildVersion(options.before);
  const after = options.after === undefined ? OWN_VERSION : buildVersion(options.after);
  const out = join(folder, 'round.json');
  // A quick round alone means little, but there are many rounds, each in a process of its own.
  const args = ['--quick', '--rows', `^(${groups.join('|')})$`, '--warm-up', String(WARM_UP_SECONDS)];
  args.push('--seconds', String(options.seconds), '--out', out);
  const runs: Record<'before' | 'after', Row[][]> = { before: [], after: [] };
  const sides = Object.entries({ before, after }) as ['before' | 'after', Version][];
  // The versions take turns at being first, so that slow phases of the machine affect both equally.
  for (let round = 1; round <= options.rounds; round++) {
    console.error(`round ${round} of ${options.rounds} …`);
    for (const [side, version] of round % 2 === 1 ? sides : sides.toReversed()) {
      await runBench(args, version);
      runs[side].push([...readReport(out).rows]);
    }
  }
  console.log(
    `Before: ${before.name}. After: ${after.name}. Medians (and ranges) of ${options.rounds} rounds.\n`,
  );
  console.log(comparisonTable(compareRuns(runs.before, runs.after)));
}

/** Runs this bench in its own process, on the service of a version. */
async function runBench(args: readonly string[], version: Version): Promise<void> {
  const child = spawn(process.execPath, [BENCH, ...args], {
    env: { ...process.env, [PROGRAM_VARIABLE]: version.program },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const kill = () => child.kill();
  process.once('exit', kill);
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-2_000);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  process.off('exit', kill);
  if (code !== 0) throw new Error(`measuring ${version.name} failed: ${words}`);
}

function readReport(file: string): Report {
  const report = JSON.parse(readFileSync(file, 'utf8')) as Partial<Report>;
  if (!Array.isArray(report.rows)) throw new Error(`${file} has no rows: it is not a result of this bench`);
  return report as Report;
}
