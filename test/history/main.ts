import { writeFileSync } from 'node:fs';
import { checkHistory } from './checker.js';
import { LAST_WRITES, UNANSWERED_WRITES } from './rewind.js';
import { clusterSystem } from './cluster-system.js';
import { readOptions, USAGE, type Options } from './options.js';
import { run } from './run.js';
import { exercisedText, summary } from './summary.js';
import type { System } from './system.js';
import { embeddedSystem, redisSystem } from './systems.js';
import { violationText } from './text.js';

/** How many violations are printed with their histories. The file contains all violations. */
const MOST_PRINTED = 5;

function start({ store, wait }: Options): Promise<System> {
  if (store === 'embedded') return embeddedSystem();
  return store === 'redis' ? redisSystem() : clusterSystem(wait);
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') {
    console.log(USAGE);
    return;
  }
  const { store, wait, seed, clients, workers, crawlers, seconds } = options;
  const name = wait > 0 ? `${store}, waiting for ${wait} replica` : store;
  console.log(
    `store ${name}; seed ${seed}; ${clients} clients, ${workers} workers on the queue, ${crawlers} clients of synced sets; ${seconds} s`,
  );
  const system = await start(options);
  const stop = () => system.stop();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void stop().finally(() => process.exit(1)));
  }
  try {
    const history = await run(system, options);
    const report = checkHistory(history, options.wait > 0 ? UNANSWERED_WRITES : LAST_WRITES);
    for (const violation of report.violations.slice(0, MOST_PRINTED)) {
      console.log(`VIOLATION ${violationText(violation, history.faults)}\n`);
    }
    if (report.violations.length > 0 || report.undecided > 0) {
      writeFileSync(options.out, JSON.stringify({ options, ...history, violations: report.violations }));
      console.log(`the whole history is in ${options.out}`);
      process.exitCode = 1;
    }
    console.log(summary(history, report));
    if (report.synced) console.log(exercisedText(report.synced));
  } finally {
    await stop();
  }
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
