/**
 * Scenarios with request managers, each in its own process, because Crawlee's storages belong to a process. The file is
 * copied beside the built example. `node crawlee-probe.mjs SCENARIO JSON` prints a scenario's result as JSON. Without
 * arguments, it answers lines of `[SCENARIO, GIVEN]` in turn, each with its own request queue.
 */
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { CheerioCrawler, log, LogLevel, Request, RequestList, RequestQueue } from '@crawlee/cheerio';
import { UnseenRequestManager } from './dist/unseen-request-manager.js';

log.setLevel(LogLevel.OFF);

const all = { waitForAllRequestsToBeAdded: true, waitBetweenBatchesMillis: 0 };

function urls(count, from = 0) {
  return Array.from({ length: count }, (_, i) => `https://example.org/u${from + i}`);
}

function fresh(added) {
  return added.filter(({ wasAlreadyPresent }) => !wasAlreadyPresent).length;
}

function failure(promise) {
  return promise.then(
    () => 'no error',
    (error) => `${error.name}: ${error.message}`,
  );
}

/** Takes and handles all requests in the queue. */
async function drain(manager) {
  const fetched = [];
  for await (const request of manager) {
    fetched.push(request.url);
    await manager.markRequestHandled(request);
  }
  return fetched;
}

/** Ends this process immediately, as a crash would. */
function crash() {
  process.kill(process.pid, 'SIGKILL');
}

const PATIENCE_SECONDS = 3_600;

/** What a proxy answers in front of a service that stays away for longer than the client waits. */
function unavailable(detail) {
  const body = JSON.stringify({ status: 503, code: 'OVERLOADED', detail, requestId: 'r' });
  return new Response(body, { status: 503, headers: { 'retry-after': String(2 * PATIENCE_SECONDS) } });
}

/** All scenarios, by name. */
class Scenarios {
  /** How many calls the service got, by the last part of the path. */
  calls = {};
  /** Wraps each call. Gets the last part of its path, and a function that makes the call. */
  between = (_verb, call) => call();

  constructor({ service, set, ...given }, queue) {
    Object.assign(this, { service, set, given, queue });
  }

  open(options = {}) {
    return UnseenRequestManager.open({
      set: { name: this.set, capacity: 100_000 },
      service: {
        url: this.service,
        // Longer than a slow machine needs.
        timeoutMs: PATIENCE_SECONDS * 1_000,
        fetch: (input, init) => {
          const verb = String(input).split('/').at(-1);
          this.calls[verb] = (this.calls[verb] ?? 0) + 1;
          return this.between(verb, () => fetch(input, init));
        },
      },
      ...(this.queue && { queue: this.queue }),
      ...options,
    });
  }

  /** Crawls as main.ts does, and crashes at the given point. */
  async crawl() {
    const {
      start,
      visitedWhen = 'scheduled',
      crashOn,
      crashAtVisit,
      lockSecs,
      maxRequestRetries = 1,
      robots = false,
    } = this.given;
    let visits = 0;
    this.between = async (verb, call) => {
      const answer = await call();
      if (verb === 'visit' && ++visits === crashAtVisit) crash();
      return answer;
    };
    const manager = await this.open({ visitedWhen });
    const crawler = new CheerioCrawler({
      requestQueue: manager.asRequestQueue(),
      maxRequestRetries,
      maxConcurrency: 2,
      autoscaledPoolOptions: { maybeRunIntervalSecs: 0.05 },
      respectRobotsTxtFile: robots,
      requestHandler: async ({ request, enqueueLinks }) => {
        if (request.url === crashOn) crash();
        await enqueueLinks();
      },
    });
    // By default, at least a minute. A new process would wait that long for requests that a killed process had locked.
    if (lockSecs !== undefined) manager.requestLockSecs = lockSecs;
    // The crawler's own method would fetch robots.txt immediately.
    await manager.addRequestsBatched(start);
    const { requestsFinished, requestsFailed } = await crawler.run();
    return { finished: requestsFinished, failed: requestsFailed };
  }

  /** Visits and queues as main.ts does, and ends before it fetches anything. */
  async leave() {
    const manager = await this.open({ queue: await RequestQueue.open(this.set) });
    await manager.addRequestsBatched(this.given.start, all);
    return {};
  }

  /** A request's members. */
  async carried() {
    const manager = await this.open();
    const [url] = urls(1);
    const request = new Request({
      url,
      label: 'detail',
      userData: { a: [1] },
      headers: { x: 'y' },
      crawlDepth: 3,
      maxRetries: 7,
    });
    const key = request.uniqueKey;
    await manager.addRequest(request);
    const { label, userData, headers, crawlDepth, maxRetries } = await manager.fetchNextRequest();
    return { label, userData, headers, crawlDepth, maxRetries, isUntouched: request.uniqueKey === key };
  }

  async counting() {
    const manager = await this.open({ visitedWhen: this.given.visitedWhen });
    const { addedRequests } = await manager.addRequestsBatched(urls(1_001), all);
    const again = await manager.addRequestsBatched(urls(1_001), all);
    const { visit = 0, check = 0 } = this.calls;
    return { fresh: fresh(addedRequests), again: fresh(again.addedRequests), visit, check };
  }

  async limit() {
    const manager = await this.open({ visitedWhen: this.given.visitedWhen });
    await manager.addRequestsBatched(urls(5));
    const { addedRequests, requestsOverLimit } = await manager.addRequestsBatched(urls(50), {
      maxNewRequests: 3,
    });
    const over = requestsOverLimit.map(({ url }) => url);
    return {
      fresh: fresh(addedRequests),
      over,
      fetched: await drain(manager),
      pending: manager.getPendingCount(),
    };
  }

  async others() {
    const manager = await this.open();
    const [url] = urls(1);
    const requests = [
      { url, uniqueKey: 'mine' },
      { url, method: 'POST', payload: 'a=1', useExtendedUniqueKey: true },
      { url: `${url}#a`, keepUrlFragment: true },
    ];
    const { addedRequests } = await manager.addRequestsBatched(requests);
    const again = await manager.addRequestsBatched(requests);
    return {
      fresh: fresh(addedRequests),
      again: fresh(again.addedRequests),
      fetched: (await drain(manager)).length,
      calls: Object.keys(this.calls),
    };
  }

  async forget() {
    const manager = await this.open();
    const [a, b] = urls(2);
    await manager.addRequestsBatched([a, b]);
    const first = await drain(manager);
    const forgotten = await manager.forget([a]);
    await manager.addRequestsBatched([a, b]);
    return { first, forgotten, second: await drain(manager) };
  }

  /** The service executes the calls, but the program loses the answers. */
  async lost() {
    const manager = await this.open();
    this.between = async (verb, call) => {
      await call();
      return unavailable(`the answer to ${verb} is lost`);
    };
    const error = await failure(manager.addRequestsBatched(urls(5)));
    const finished = await failure(manager.isFinished());
    const queued = manager.getTotalCount();
    this.between = (_verb, call) => call();
    const { addedRequests } = await manager.addRequestsBatched(urls(5));
    return { error, finished, queued, fresh: fresh(addedRequests), fetched: await drain(manager) };
  }

  async background() {
    const manager = await this.open();
    let visits = 0;
    this.between = (verb, call) => {
      if (verb === 'visit' && ++visits > 1) return unavailable('away');
      return call();
    };
    const crawler = new CheerioCrawler({
      requestQueue: manager.asRequestQueue(),
      requestHandler: async () => {},
      maxRequestRetries: 0,
    });
    const requests = urls(6).map((url) => ({ url, skipNavigation: true }));
    const added = await crawler.addRequests(requests, { batchSize: 5, waitBetweenBatchesMillis: 0 });
    return { fresh: fresh(added.addedRequests), error: await failure(crawler.run()) };
  }

  async asQueue() {
    const manager = await this.open();
    const { queue } = manager;
    new CheerioCrawler({
      requestQueue: manager.asRequestQueue(),
      requestHandler: async () => {},
      requestHandlerTimeoutSecs: 600,
    });
    const [first] = urls(1, 100);
    const info = await manager.addRequest({ url: first });
    const before = [await manager.isEmpty(), await manager.isFinished(), manager.getPendingCount()];
    await manager.addRequest({ url: urls(1)[0] });
    await manager.addRequest({ url: urls(1, 1)[0] }, { forefront: true });
    const repeated = await manager.addRequest({ url: first });
    const taken = await manager.fetchNextRequest();
    await manager.reclaimRequest(taken, { forefront: true });
    const fetched = await drain(manager);
    return {
      locks: queue.requestLockSecs === manager.requestLockSecs && manager.requestLockSecs > 600,
      timeouts:
        queue.internalTimeoutMillis === manager.internalTimeoutMillis &&
        manager.internalTimeoutMillis > 600_000,
      added: [info.wasAlreadyPresent, repeated.wasAlreadyPresent],
      before,
      taken: taken.url,
      fetched,
      after: [await manager.isEmpty(), await manager.isFinished(), manager.getPendingCount()],
      counts: [await manager.handledCount(), manager.getTotalCount()],
    };
  }

  async list() {
    const manager = await this.open();
    const list = urls(3).map((url) => ({ url, skipNavigation: true }));
    const crawler = new CheerioCrawler({
      requestList: await RequestList.open(null, list),
      requestQueue: manager.asRequestQueue(),
      requestHandler: async () => {},
    });
    const { requestsFinished } = await crawler.run();
    return { finished: requestsFinished };
  }

  async refused() {
    const manager = await this.open();
    const [url] = urls(1);
    const answers = [
      failure(this.open({ visitedWhen: 'never' })),
      failure(manager.addRequest({})),
      failure(manager.addRequest({ requestsFromUrl: url })),
      failure(manager.addRequestsBatched([url], { batchSize: 0 })),
      failure(manager.addRequestsBatched(['mailto:me@example.org'])),
    ];
    return Promise.all(answers);
  }

  async requestManagerOption() {
    const manager = await this.open();
    try {
      new CheerioCrawler({ requestManager: manager, requestHandler: async () => {} });
      return 'taken';
    } catch (error) {
      return String(error.message);
    }
  }
}

const [scenario, given] = process.argv.slice(2);
if (scenario !== undefined) {
  console.log(JSON.stringify(await new Scenarios(JSON.parse(given))[scenario]()));
  // Crawlee still has a timer of one second.
  process.exit();
}
for await (const line of createInterface({ input: process.stdin })) {
  const [asked, options] = JSON.parse(line);
  const queue = await RequestQueue.open(randomUUID());
  const answered = await new Scenarios(options, queue)[asked]().then(
    (answer) => ({ answer }),
    (error) => ({ error: error.stack }),
  );
  console.log(JSON.stringify(answered));
}
