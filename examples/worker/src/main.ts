/** A worker on a visited set's queue. It fetches pages and discovers their links. */
import { ConflictError, UnseenClient, UnseenError, Worker, type VisitedSet } from 'unseen-client';
import { Crawler } from './crawler.js';
import { readOptions, USAGE, type Options } from './options.js';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** A new set's capacity. The set grows when it is full. */
const CAPACITY = 1_000_000;

function log(text: string): void {
  console.error(text);
}

/** Creates the set. If it exists and gives each host to one worker at a time, uses it as it is. */
async function prepare(set: VisitedSet, { attempts, starts, delaySeconds }: Options): Promise<void> {
  const perHost = { maxLeased: 1, ...(delaySeconds > 0 && { delaySeconds }) };
  try {
    await set.create({ capacity: CAPACITY, maxAttempts: attempts, perHost });
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    const found = await set.describe();
    if (!('perHost' in found) || found.perHost?.maxLeased !== 1)
      throw new Error(
        `${set.name} exists, but its perHost.maxLeased is not 1, so workers could send parallel requests to a host`,
        {
          cause: error,
        },
      );
    log(`${set.name} exists and is used as it is`);
  }
  await set.discover([...starts]);
}

async function work(options: Options): Promise<void> {
  const unseen = new UnseenClient({
    url: options.service,
    apiKey: process.env.UNSEEN_API_KEY,
    onRetry: ({ message }) => log(message),
  });
  const set = unseen.visitedSet(options.set);
  await prepare(set, options);
  const crawler = new Crawler(set, options, {
    visit: (visit) => console.log(JSON.stringify(visit)),
    log,
  });
  const worker = new Worker(set, (task) => crawler.handle(task), {
    concurrency: options.concurrency,
    leaseSeconds: options.leaseSeconds,
    untilEmpty: !options.forever,
    tries: options.attempts,
    delaySeconds: (attempt) => crawler.delaySeconds(attempt),
    onError: (error, task) => {
      // The crawler logs failed URLs itself, except for errors from the service.
      if (task === undefined || error instanceof UnseenError) log(String(error));
    },
  });
  // After the first signal, the default handler ends the program immediately.
  const stop = (signal: NodeJS.Signals): void => {
    for (const other of SIGNALS) process.off(other, stop);
    log(`${signal}: finishing the fetches in progress; signal again to end immediately`);
    crawler.stop();
    void worker.stop();
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    await worker.run();
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
    const { fetched, disallowed, failed } = crawler.counts;
    log(`${fetched} fetched, ${disallowed} disallowed, ${failed} failed`);
  }
}

if (process.argv.includes('--help')) {
  console.log(USAGE);
  process.exit();
}
let options: Options;
try {
  options = readOptions(process.argv.slice(2));
} catch (error) {
  log(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  process.exit(2);
}
await work(options).catch((error: unknown) => {
  log(String(error));
  process.exitCode = 1;
});
