import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileProfile, normaliseProfile } from '#url-key';
import { realStream } from '../../bench/real-stream.js';
import { judgeQueue } from '../queue-judge.js';
import { struck } from '../summary.js';
import { embeddedSystem, redisSystem } from '../systems.js';
import { violationText } from '../text.js';
import { crawl } from './crawl.js';
import { readOptions, USAGE } from './options.js';
import { tally } from './tally.js';

/** The number of violations to print. */
const MOST_PRINTED = 5;

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') {
    console.log(USAGE);
    return;
  }
  const { store, seed, workers } = options;
  console.log(
    `store ${store}; seed ${seed}; ${workers} workers; faults ${options.faults.join(', ') || 'none'}`,
  );
  const stream = realStream();
  const urls = distinct(stream.urls, options.urls);
  console.log(`${urls.length} ${stream.source}`);
  const system = await (store === 'embedded' ? embeddedSystem() : redisSystem());
  const folder = await mkdtemp(join(tmpdir(), 'unseen-crawl-'));
  const stop = async () => {
    await system.stop();
    await rm(folder, { recursive: true, force: true });
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void stop().finally(() => process.exit(1)));
  }
  try {
    const { queue, faults, failures, seconds } = await crawl(system, folder, urls, options);
    const { violations } = judgeQueue(queue, faults);
    const wrong = [...failures, ...violations.map((violation) => violationText(violation, faults))];
    for (const text of wrong.slice(0, MOST_PRINTED)) console.log(`VIOLATION ${text}\n`);
    console.log(`${tally(queue.attempts, seconds)}; faults ${struck(faults)}; violations ${wrong.length}`);
    if (wrong.length > 0) process.exitCode = 1;
  } finally {
    await stop();
  }
}

/** The first `count` URLs that a visited set accepts, no two of which have the same identity. */
function distinct(urls: readonly string[], count: number): string[] {
  const profile = compileProfile(normaliseProfile('safe'));
  const byKey = new Map<string, string>();
  for (const url of urls) {
    if (byKey.size === count) break;
    const key = profile.key(url);
    if (typeof key === 'string' && !byKey.has(key)) byKey.set(key, url);
  }
  return [...byKey.values()];
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
