import { writeFileSync } from 'node:fs';
import { embeddedGroup, singleGroup, streamGroup } from './embedded-rows.js';
import { hashGroup, urlGroup } from './in-process-rows.js';
import { memoryGroup } from './memory-rows.js';
import { overloadGroup } from './overload-rows.js';
import { readOptions, USAGE, type Options } from './options.js';
import { redisGroup } from './redis-rows.js';
import { markdown, thisMachine, updateMarkdown } from './report.js';
import type { Group, Row } from './row.js';
import { waitGroup } from './wait-rows.js';

/** In the order in which they run; choose some with --rows. */
const GROUPS: readonly Group[] = [
  hashGroup,
  urlGroup,
  embeddedGroup,
  streamGroup,
  singleGroup,
  memoryGroup,
  redisGroup,
  waitGroup,
  overloadGroup,
];

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
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
  if (options.update !== undefined) updateMarkdown(options.update, text);
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
  process.exitCode = 1;
}
