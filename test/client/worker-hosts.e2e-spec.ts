import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  RetryAfterError,
  UnseenClient,
  Worker,
  type Task,
  type VisitedSet,
  type WorkerOptions,
} from '#client';
import { STORES } from '../e2e/stores.js';
import { freshName, type TestApp } from '../support/app.js';
import { until } from '../support/until.js';

const urls = (host: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `https://${host}.example/${n}`);
const RETRY_AFTER_SECONDS = 600;

describe.each(STORES)('a worker and busy hosts, $name store', ({ start }) => {
  let app: TestApp;
  let client: UnseenClient;
  beforeAll(async () => {
    app = await start();
    client = new UnseenClient({ url: app.url });
  });
  afterAll(() => app.close());

  const queueOf = async (list: readonly string[], options: object): Promise<VisitedSet> => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 10_000, errorRate: 1e-9, ...options });
    await set.discover(list);
    return set;
  };
  const queue = async (set: VisitedSet) => {
    const description = await set.describe();
    if (!('queue' in description)) throw new Error('the set has lost data');
    return description.queue;
  };
  const SOON: WorkerOptions = { untilEmpty: true, waitSeconds: 0, concurrency: 1, leaseSeconds: 3_600 };

  const fetched: { url: string; attempt: number }[] = [];
  /**
   * Runs a worker whose first request to host a gets the answer that `busy` gives. `before`: URLs fetched before time
   * passed.
   */
  const run = async (set: VisitedSet, busy: () => unknown): Promise<unknown> => {
    fetched.length = 0;
    let isBusy = true;
    const handler = async ({ url, attempt }: Task): Promise<unknown> => {
      fetched.push({ url, attempt });
      if (!isBusy || !url.includes('//a.')) return undefined;
      isBusy = false;
      return busy();
    };
    const worker = new Worker(set, handler, SOON);
    const ran = worker.run();
    await until('the worker has only URLs that wait', async () => {
      const { leased } = await queue(set);
      return fetched.length >= 3 && leased === 0;
    });
    const before = fetched.map(({ url }) => url);
    app.advance(RETRY_AFTER_SECONDS * 1_000);
    return { work: await ran, before };
  };
  const [a0, a1, a2] = urls('a', 3) as [string, string, string];
  const [b0, b1] = urls('b', 2) as [string, string];

  it('makes the host wait for the time that the handler returns, and counts no attempt', async () => {
    const set = await queueOf([a0, a1, a2, b0, b1], { perHost: {}, maxAttempts: 1 });
    const busy = () => ({ retryAfterSeconds: RETRY_AFTER_SECONDS, host: true });
    expect(await run(set, busy)).toEqual({
      work: { done: 5, failed: 0, released: 1, lost: 0 },
      before: [a0, b0, b1],
    });
    expect(fetched.slice(3).sort((one, other) => (one.url < other.url ? -1 : 1))).toEqual([
      { url: a0, attempt: 1 },
      { url: a1, attempt: 1 },
      { url: a2, attempt: 1 },
    ]);
  });

  it('makes the host wait for the time in an error, and counts a failure', async () => {
    const set = await queueOf([a0, a1, b0, b1], { perHost: {}, maxAttempts: 1 });
    const busy = () => {
      throw new RetryAfterError('HTTP 503', RETRY_AFTER_SECONDS, { host: true });
    };
    expect(await run(set, busy)).toEqual({
      work: { done: 3, failed: 1, released: 0, lost: 0 },
      before: [a0, b0, b1],
    });
    expect(fetched.slice(3)).toEqual([{ url: a1, attempt: 1 }]);
    expect(await queue(set)).toMatchObject({ waiting: 0, dead: 1 });
  });

  it.each([{ host: true }, {}])('postpones only the URL in a set without perHost: %j', async (more) => {
    const set = await queueOf([a0, a1, b0], {});
    const busy = () => ({ retryAfterSeconds: RETRY_AFTER_SECONDS, ...more });
    expect(await run(set, busy)).toEqual({
      work: { done: 3, failed: 0, released: 1, lost: 0 },
      before: [a0, a1, b0],
    });
    expect(fetched.slice(3)).toEqual([{ url: a0, attempt: 1 }]);
  });

  it('obeys the set’s delay', async () => {
    const set = await queueOf([a0, a1, b0], { perHost: { delaySeconds: RETRY_AFTER_SECONDS } });
    const fetched: string[] = [];
    const worker = new Worker(set, async ({ url }) => void fetched.push(url), SOON);
    const ran = worker.run();
    await until('it has had one URL of each host', async () => (await queue(set)).waiting === 1);
    await until('these are acknowledged', async () => (await queue(set)).leased === 0);
    expect(fetched).toEqual([a0, b0]);
    app.advance(RETRY_AFTER_SECONDS * 1_000);
    expect(await ran).toEqual({ done: 3, failed: 0, released: 0, lost: 0 });
    expect(fetched).toEqual([a0, b0, a1]);
  });

  it('counts an invalid time as a failure', async () => {
    const set = await queueOf([a0], { perHost: {}, maxAttempts: 1 });
    const worker = new Worker(set, async () => ({ retryAfterSeconds: NaN, host: true }), SOON);
    expect(await worker.run()).toEqual({ done: 0, failed: 1, released: 0, lost: 0 });
    for await (const { reason } of set.deadLetters())
      expect(reason).toContain('retryAfterSeconds must be 0 or more, not NaN');
  });

  it('gives the result limited for a URL beyond its host’s limit', async () => {
    const set = await queueOf([a0], { perHost: { maxUrls: 1 } });
    expect(await set.discover([a0, a1, b0])).toEqual(['seen', 'limited', 'new']);
    expect(await set.discover(a1)).toBe('limited');
    const [leased] = await set.lease({ max: 1, leaseSeconds: 60, maxPerHost: 1 });
    expect(await set.release(leased!.id, { hostDelaySeconds: 60 })).toBe('released');
    expect(await set.lease({ max: 10, leaseSeconds: 60 })).toMatchObject([{ url: b0 }]);
  });
});
