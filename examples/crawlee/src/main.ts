import { parseArgs } from 'node:util';
import { CheerioCrawler, log, LogLevel, RequestQueue } from '@crawlee/cheerio';
import { addRedirect, leaveRedirects } from './redirects.js';
import { UnseenRequestManager, type VisitedWhen } from './unseen-request-manager.js';

const USAGE = `npm start -- [options] URL...

Crawls the site of each URL, without leaving its host. Every run fetches these URLs again to find new links.

  --set NAME       the visited set (crawl)
  --capacity N     capacity of a new set (1000000)
  --service URL    URL of Unseen (UNSEEN_URL, or http://127.0.0.1:3000)
  --visited-when WHEN
                   when a URL becomes visited: scheduled or handled (scheduled)

UNSEEN_API_KEY is the API key, if the service requires one.`;

async function main(): Promise<void> {
  const { values, positionals: urls } = parseArgs({
    allowPositionals: true,
    options: {
      set: { type: 'string', default: 'crawl' },
      capacity: { type: 'string', default: '1000000' },
      service: { type: 'string', default: process.env.UNSEEN_URL ?? 'http://127.0.0.1:3000' },
      'visited-when': { type: 'string', default: 'scheduled' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help || urls.length === 0) {
    console.log(USAGE);
    return;
  }
  if (process.env.CRAWLEE_LOG_LEVEL === undefined) log.setLevel(LogLevel.WARNING);

  const visitedWhen = visitedWhenOf(values['visited-when']);
  // Only the queue contains URLs that are visited but not fetched yet. Crawlee doesn't purge a named queue when the
  // next run starts.
  const queue = visitedWhen === 'scheduled' ? await RequestQueue.open(values.set) : undefined;
  const manager = await UnseenRequestManager.open({
    set: { name: values.set, capacity: Number(values.capacity) },
    service: {
      url: values.service,
      apiKey: process.env.UNSEEN_API_KEY,
      onRetry: ({ message }) => console.error(message),
    },
    visitedWhen,
    isOnlyUser: true,
    ...(queue && { queue }),
  });
  const crawler = new CheerioCrawler({
    requestQueue: manager.asRequestQueue(),
    preNavigationHooks: [leaveRedirects],
    async requestHandler(context) {
      if (await addRedirect(manager, context)) return;
      await context.enqueueLinks({ strategy: 'same-hostname' });
    },
  });
  await manager.addStarts(urls);
  const { requestsFinished, requestsFailed } = await crawler.run();
  console.log(JSON.stringify({ finished: requestsFinished, failed: requestsFailed }));
}

function visitedWhenOf(text: string): VisitedWhen {
  if (text === 'scheduled' || text === 'handled') return text;
  throw new TypeError(`--visited-when must be scheduled or handled, not ${text}`);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
