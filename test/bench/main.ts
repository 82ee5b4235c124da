import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { cliGroup } from './cli-rows.js';
import { clientGroup } from './client-rows.js';
import { compare } from './compare.js';
import { readCompareOptions } from './compare-options.js';
import { embeddedGroup } from './embedded-rows.js';
import { guard } from './guard.js';
import { readGuardOptions } from './guard-options.js';
import { frameworkGroup } from './framework-rows.js';
import { growthGroup } from './growth-rows.js';
import { hashGroup, urlGroup } from './in-process-rows.js';
import { filterGroup } from './in-process-filter-rows.js';
import { inspectionGroup } from './inspection-rows.js';
import { manyHostsGroup } from './many-hosts-rows.js';
import { memoryGroup } from './memory-rows.js';
import { orderGroup } from './order-rows.js';
import { overloadGroup } from './overload-rows.js';
import { hostErrorGroup } from './host-error-rows.js';
import { hostGroup } from './host-rows.js';
import { pruneGroup } from './prune-rows.js';
import { queueGroup } from './queue-rows.js';
import { readOptions, USAGE, type Options } from './options.js';
import { redisGroup } from './redis-rows.js';
import { CHART_TITLE, peerChart } from './peer-chart.js';
import { peerGroup } from './peer-rows.js';
import { markdown, thisMachine, updateMarkdown } from './report.js';
import type { Group, Row } from './row.js';
import { respGroup } from './resp-rows.js';
import { scrapyGroup } from './scrapy-rows.js';
import { segmentGroup } from './segment-rows.js';
import { redisSingleGroup, singleGroup } from './single-rows.js';
import { startGroup } from './start-rows.js';
import { streamGroup } from './stream-rows.js';
import { syncGroup } from './sync-rows.js';
import { ageGroup } from './age-rows.js';
import { traceGroup } from './trace-rows.js';
import { turnGroup } from './turn-rows.js';
import { waitGroup } from './wait-rows.js';

/** The groups in the order in which they run. --rows selects some of them. */
const GROUPS: readonly Group[] = [
  hashGroup,
  urlGroup,
  filterGroup,
  peerGroup,
  embeddedGroup,
  streamGroup,
  queueGroup,
  hostGroup,
  hostErrorGroup,
  manyHostsGroup,
  pruneGroup,
  orderGroup,
  growthGroup,
  syncGroup,
  ageGroup,
  clientGroup,
  cliGroup,
  scrapyGroup,
  singleGroup,
  frameworkGroup,
  inspectionGroup,
  segmentGroup,
  startGroup,
  memoryGroup,
  redisGroup,
  redisSingleGroup,
  respGroup,
  waitGroup,
  traceGroup,
  overloadGroup,
  turnGroup,
];

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  if (args.includes('--guard')) {
    process.exitCode = await guard(readGuardOptions(args));
    return;
  }
  if (args.some((arg) => /^--compare(=|$)/.test(arg))) return compare(readCompareOptions(args));
  const options = readOptions(args);
  if (options === 'help') {
    console.log(USAGE);
    return;
  }
  if (process.platform !== 'linux') throw new Error('the bench reads /proc, which only Linux has');
  const rows = await measureAll(options);
  const report = { date: new Date().toISOString(), quick: options.quick, machine: thisMachine(), rows };
  const text = markdown(report);
  console.log(text);
  writeFileSync(options.out, `${JSON.stringify(report, undefined, 2)}\n`);
  if (options.update !== undefined) update(options.update, text, rows);
}

/** Writes the tables into a Markdown file below the chart. Writes the chart, if there is one, next to the file. */
function update(file: string, tables: string, rows: readonly Row[]): void {
  const chart = peerChart(rows);
  if (chart === undefined) {
    updateMarkdown(file, tables);
    return;
  }
  const picture = `${file.replace(/\.md$/, '')}.svg`;
  writeFileSync(picture, chart);
  updateMarkdown(file, `![${CHART_TITLE}](${basename(picture)})\n\n${tables}`);
}

async function measureAll(options: Options): Promise<Row[]> {
  const chosen = GROUPS.filter(({ name }) => options.rows.test(name));
  if (chosen.length === 0) {
    throw new Error(`--rows matches none of: ${GROUPS.map(({ name }) => name).join(', ')}`);
  }
  const rows: Row[] = [];
  for (const { name, measure } of chosen) {
    const from = performance.now();
    console.error(`${name} …`);
    rows.push(...(await measure(options)));
    console.error(`  ${((performance.now() - from) / 1_000).toFixed(1)} s`);
  }
  return rows;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  // The failed measurement's servers and connections may still be open.
  process.exit(1);
}
