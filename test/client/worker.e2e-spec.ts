import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  RetryAfterError,
  UnseenClient,
  Worker,
  type Task,
  type VisitedSet,
  type Work,
  type WorkerOptions,
} from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { leasesWaiting } from '../e2e/leases-waiting.js';

const urlAt = (i: number): string => `https://example.org/${i}`;
const urls = (count: number): string[] => Array.from({ length: count }, (_, i) => urlAt(i));
/** Longer than any test. */
const LONG = 600;
/** How often a worker extends a lease of LONG. */
const EXTENDED_MS = (LONG * 1_000) / 3;
/** Fakes only intervals, which a worker uses for extensions. */
const INTERVALS_ONLY: Parameters<typeof jest.useFakeTimers>[0] = {
  doNotFake: [
    ...(['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask'] as const),
    ...(['setImmediate', 'clearImmediate', 'setTimeout', 'clearTimeout'] as const),
  ],
};

describe('a worker', () => {
  let app: TestApp;
  let client: UnseenClient;
  beforeAll(async () => {
    app = await startApp();
    client = new UnseenClient({ url: app.url });
  });
  afterEach(() => {
    jest.useRealTimers();
  });
  afterAll(() => app.close());

  const queueOf = async (list: readonly string[], maxAttempts?: number): Promise<VisitedSet> => {
    const set = client.visitedSet(freshName('set'));
    await set.create({
      capacity: 10_000,
      errorRate: 1e-9,
      ...(maxAttempts !== undefined && { maxAttempts }),
    });
    await set.discover(list);
    return set;
  };
  const counts = async (set: VisitedSet) => {
    const description = await set.describe();
    if (!('queue' in description)) throw new Error('the set has lost data');
    const { waiting, leased, delayed, dead } = description.queue;
    return { waiting, leased, delayed, dead };
  };
  const EMPTY = { waiting: 0, leased: 0, delayed: 0, dead: 0 };
  const SOON: WorkerOptions = {
    ...{ untilEmpty: true, waitSeconds: 0 },
    ...{ delaySeconds: () => 0, leaseSeconds: LONG },
  };

  it('processes each URL once, within its concurrency, including URLs that it finds', async () => {
    const set = await queueOf(urls(50));
    const done: string[] = [];
    let [running, most] = [0, 0];
    const worker = new Worker(
      set,
      async ({ url }) => {
        most = Math.max(most, ++running);
        const found = Number(url.split('/').at(-1)) + 50;
        if (found < 300) await set.discover([urlAt(found), urlAt(0)]);
        done.push(url);
        running--;
      },
      { ...SOON, concurrency: 7 },
    );
    expect(await worker.run()).toEqual({ done: 300, failed: 0, released: 0, lost: 0 });
    expect(done.sort()).toEqual(urls(300).sort());
    expect(most).toBe(7);
    expect(await counts(set)).toEqual(EMPTY);
  });

  it('releases failed URLs with the reason, for any thrown value', async () => {
    const set = await queueOf(urls(9), 1);
    const trap = {
      get message(): string {
        throw new Error('no');
      },
      toString: () => {
        throw new Error('no');
      },
    };
    const thrown: unknown[] = [
      ...[new Error('HTTP 500'), new TypeError('fetch failed'), null, undefined, trap, '', '€'.repeat(500)],
      `${'x'.repeat(255)}\ud83d\ude00`,
      new RetryAfterError('HTTP 429', 0),
    ];
    const told: unknown[] = [];
    const worker = new Worker(
      set,
      async ({ url }) => {
        throw thrown[Number(url.split('/').at(-1))];
      },
      {
        ...SOON,
        onError: (error) => {
          told.push(error);
          throw new Error('a listener that throws');
        },
      },
    );
    expect(await worker.run()).toEqual({ done: 0, failed: 9, released: 0, lost: 0 });
    expect(told).toHaveLength(9);
    const reasons = new Map<string, string>();
    for await (const { url, reason } of set.deadLetters()) reasons.set(url, reason);
    expect(urls(9).map((url) => reasons.get(url))).toEqual([
      ...[
        'HTTP 500',
        'TypeError: fetch failed',
        'null',
        'undefined',
        'the handler failed',
        'the handler failed',
      ],
      ...['€'.repeat(85), 'x'.repeat(255), 'HTTP 429'],
    ]);
  });

  it('retries failed URLs, and waits for delayed ones before it says that none is left', async () => {
    const set = await queueOf(urls(3));
    const attempts: number[] = [];
    const handler = async ({ url, attempt }: Task): Promise<void> => {
      if (url !== urlAt(1)) return;
      attempts.push(attempt);
      if (attempt < 3) throw new Error('not yet');
    };
    const worker = new Worker(set, handler, { ...SOON, delaySeconds: () => LONG });
    const working = worker.run();
    for (let n = 1; n < 3; n++) {
      await until('the other URLs are done, and this one is delayed', async () => {
        const { waiting, leased, delayed } = await counts(set);
        return attempts.length === n && waiting + leased === 0 && delayed === 1;
      });
      app.advance(LONG * 1_000);
    }
    expect(await working).toEqual({ done: 3, failed: 2, released: 0, lost: 0 });
    expect(attempts).toEqual([1, 2, 3]);
  });

  it('ends despite URLs that always fail, and leaves them in the queue after all tries', async () => {
    const set = await queueOf(urls(4));
    const attempts: string[] = [];
    const handler = async ({ url, attempt }: Task): Promise<void> => {
      attempts.push(`${url} ${attempt}`);
      if (url === urlAt(3) && attempt === 2) return;
      if (url !== urlAt(0)) throw new Error('never');
    };
    const work = await new Worker(set, handler, { ...SOON, tries: 2 }).run();
    expect(work).toEqual({ done: 2, failed: 5, released: 0, lost: 0 });
    expect(attempts.sort()).toEqual(
      [`${urlAt(0)} 1`, ...[1, 2, 3].flatMap((n) => [`${urlAt(n)} 1`, `${urlAt(n)} 2`])].sort(),
    );
    expect(await counts(set)).toEqual({ ...EMPTY, delayed: 2 });
    expect(() => new Worker(set, handler, { tries: 0 })).toThrow('tries must be a whole number from 1');
  });

  it('ends beside others when URLs always fail: each worker waits only for its own retries', async () => {
    const set = await queueOf(urls(100));
    let begun = 0;
    let open: () => void = () => undefined;
    const both = new Promise<void>((resolve) => (open = resolve));
    const attempts: string[] = [];
    const work = async (): Promise<Work> => {
      let isFirst = true;
      const handler = async ({ url, attempt }: Task): Promise<void> => {
        if (isFirst && ++begun === 2) open();
        isFirst = false;
        await both;
        attempts.push(`${url} ${attempt}`);
        throw new Error('never');
      };
      return new Worker(set, handler, { ...SOON, tries: 2 }).run();
    };
    const works = await Promise.all([work(), work()]);
    expect(works[0].failed + works[1].failed).toBe(200);
    expect(Math.min(works[0].failed, works[1].failed)).toBeGreaterThan(0);
    expect(attempts.sort()).toEqual(
      urls(100)
        .flatMap((url) => [`${url} 1`, `${url} 2`])
        .sort(),
    );
    expect(await counts(set)).toEqual({ ...EMPTY, delayed: 100 });
  });

  it('waits for URLs that were delayed before it started', async () => {
    const set = await queueOf(urls(1));
    const [other] = await set.lease({ max: 1, leaseSeconds: LONG });
    await set.release(other!.id, { delaySeconds: 2 });
    expect(await new Worker(set, async () => undefined, SOON).run()).toMatchObject({ done: 1 });
    expect(await counts(set)).toEqual(EMPTY);
  });

  it.each([
    ['5 times if the set has no limit', undefined, 5, { delayed: 1 }],
    ['as often as the set allows', 7, 7, { dead: 1 }],
  ])('tries a failing URL %s', async (_, maxAttempts, tries, left) => {
    const set = await queueOf(urls(1), maxAttempts);
    const handler = async (): Promise<void> => {
      throw new Error('never');
    };
    expect(await new Worker(set, handler, SOON).run()).toMatchObject({ done: 0, failed: tries });
    expect(await counts(set)).toEqual({ ...EMPTY, ...left });
  });

  it('retries a URL when its handler says, and counts no attempt if the handler postponed it', async () => {
    const set = await queueOf(urls(3), 2);
    const told: unknown[] = [];
    const attempts: number[] = [];
    const handler = async ({ url, attempt }: Task): Promise<void> => {
      if (url === urlAt(0)) throw new RetryAfterError('HTTP 503', 3_600);
      if (url === urlAt(1)) throw new RetryAfterError('its host is busy', 1e9, { countAttempt: false });
      attempts.push(attempt);
      if (attempts.length < 4) throw new RetryAfterError('not now', 0, { countAttempt: false });
    };
    const worker = new Worker(set, handler, { leaseSeconds: LONG, onError: (error) => told.push(error) });
    const working = worker.run();
    await until('the last URL is done', async () => attempts.length === 4);
    await until('the other URLs wait', async () => {
      const { delayed, leased } = await counts(set);
      return delayed === 2 && leased === 0;
    });
    await worker.stop();
    expect(await working).toEqual({ done: 1, failed: 1, released: 4, lost: 0 });
    expect(attempts).toEqual([1, 1, 1, 1]);
    expect(told).toEqual([expect.objectContaining({ name: 'RetryAfterError', message: 'HTTP 503' })]);
    expect(() => new RetryAfterError('x', NaN)).toThrow('delaySeconds must be 0 or more, not NaN');
  });

  it('counts URLs that its handler released as released, not as lost', async () => {
    const set = await queueOf(urls(3));
    const handler = async ({ id, url, attempt }: Task): Promise<void> => {
      if (url === urlAt(0) && attempt === 1) await set.release(id);
      if (url === urlAt(1)) await set.ack(id);
      if (url === urlAt(2)) await set.forget(url);
    };
    // One at a time. Otherwise the result would depend on whether all three share a lease.
    const worker = new Worker(set, handler, { ...SOON, concurrency: 1 });
    expect(await worker.run()).toEqual({ done: 1, failed: 0, released: 2, lost: 1 });
    expect(await counts(set)).toMatchObject({ waiting: 0, leased: 0, delayed: 0 });
  });

  it('waits for URLs that others have leased, and processes those that return', async () => {
    const set = await queueOf(urls(2));
    const [other] = await set.lease({ max: 1, leaseSeconds: LONG });
    const done: string[] = [];
    const options = { ...SOON, waitSeconds: 1 };
    const working = new Worker(set, async ({ url }) => void done.push(url), options).run();
    await until('the worker has done the rest', async () => done.length === 1);
    // A URL is left, so the worker doesn't end when its lease call returns empty. It asks again.
    const look = jest.spyOn(set, 'describe');
    await leasesWaiting(app, 1);
    app.advance(1_000);
    await until('the worker checks whether the queue is empty', async () => look.mock.calls.length > 0);
    await leasesWaiting(app, 1);
    await set.release(other!.id);
    expect(await working).toEqual({ done: 2, failed: 0, released: 0, lost: 0 });
    expect(new Set(done)).toEqual(new Set(urls(2)));
  });

  it('extends its leases while it works, and reports a lost one', async () => {
    const set = await queueOf(urls(2));
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const tasks: Task[] = [];
    const handler = async (task: Task): Promise<void> => {
      tasks.push(task);
      await ended;
    };
    const extended = jest.spyOn(set, 'extend');
    const untilExtended = async (): Promise<void> => {
      jest.advanceTimersByTime(EXTENDED_MS);
      await Promise.all(extended.mock.results.map(({ value }) => value));
    };
    jest.useFakeTimers(INTERVALS_ONLY);
    const working = new Worker(set, handler, { untilEmpty: true, leaseSeconds: LONG }).run();
    await until('both URLs are leased', async () => tasks.length === 2);
    await set.forget(tasks[0]!.url);
    // Longer than the lease.
    for (let n = 0; n < 4; n++) {
      await untilExtended();
      app.advance(EXTENDED_MS);
    }
    expect(tasks[0]!.signal.aborted).toBe(true);
    expect(await set.lease({ max: 1, leaseSeconds: 1 })).toEqual([]);
    end();
    expect(await working).toEqual({ done: 1, failed: 0, released: 0, lost: 1 });
    expect(tasks[1]!.signal.aborted).toBe(false);
  });

  it('doesn’t wait for the delay of a URL that it has lost', async () => {
    const set = await queueOf(urls(2));
    const handler = async ({ url, signal }: Task): Promise<void> => {
      // Delay another URL, because with an empty queue there is nothing to wait for.
      const [other] = await set.lease({ max: 1, leaseSeconds: LONG });
      await set.release(other!.id, { delaySeconds: LONG });
      await set.forget(url);
      jest.advanceTimersByTime(EXTENDED_MS);
      if (!signal.aborted) await once(signal, 'abort');
      throw new RetryAfterError('the site is busy', LONG);
    };
    jest.useFakeTimers(INTERVALS_ONLY);
    const worker = new Worker(set, handler, { untilEmpty: true, concurrency: 1, leaseSeconds: LONG });
    expect(await worker.run()).toEqual({ done: 0, failed: 0, released: 0, lost: 1 });
    expect(await counts(set)).toMatchObject({ waiting: 0, leased: 0, delayed: 1 });
  });

  it('that is stopped finishes its URLs in progress and takes no more', async () => {
    const set = await queueOf(urls(100));
    let begun = 0;
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const worker = new Worker(set, () => (begun++, ended), { concurrency: 5, leaseSeconds: LONG });
    const working = worker.run();
    await until('the worker has begun five URLs', async () => begun === 5);
    const stopping = worker.stop();
    end();
    await stopping;
    expect(await working).toEqual({ done: 5, failed: 0, released: 0, lost: 0 });
    expect(await counts(set)).toEqual({ ...EMPTY, waiting: 95 });
    expect(await worker.run()).toEqual({ done: 5, failed: 0, released: 0, lost: 0 });
  });

  it('that is stopped while it waits leaves no URL leased, and uses up no attempt', async () => {
    const set = await queueOf([], 1);
    let all = 0;
    for (let n = 0; n < 20; n++) {
      const worker = new Worker(set, async () => undefined, { waitSeconds: 30, leaseSeconds: LONG });
      const working = worker.run();
      // Stop the worker at the moment when a URL arrives.
      const [, { done }] = await Promise.all([set.discover(urlAt(n)).then(() => worker.stop()), working]);
      await until('no URL is leased', async () => {
        return (await counts(set)).leased === 0;
      });
      all += done;
    }
    expect(await counts(set)).toEqual({ ...EMPTY, waiting: 20 - all });
  });

  it('that is stopped leaves nothing leased behind a proxy that ends its aborted call later', async () => {
    const set = await queueOf([]);
    let calls = 0;
    const late: typeof fetch = (input, init = {}) => {
      calls++;
      const upstream = new AbortController();
      const { signal } = init;
      const aborted = new Promise<never>((_, reject) =>
        signal?.addEventListener('abort', () => {
          setTimeout(() => upstream.abort(), 300);
          reject(signal.reason as Error);
        }),
      );
      return Promise.race([fetch(input, { ...init, signal: upstream.signal }), aborted]);
    };
    const far = new UnseenClient({ url: app.url, fetch: late }).visitedSet(set.name);
    const worker = new Worker(far, async () => undefined, { waitSeconds: 30, leaseSeconds: LONG });
    const working = worker.run();
    await leasesWaiting(app, 1);
    const stopping = worker.stop();
    await until('it asks again', async () => calls === 2);
    await set.discover(urlAt(0));
    await stopping;
    await working;
    expect(await counts(set)).toEqual({ ...EMPTY, waiting: 1 });
  });

  it('waits while the service is unavailable, then continues', async () => {
    const set = await queueOf(urls(40));
    const proxy = await TcpProxy.start(app.port);
    const far = new UnseenClient({ url: `http://127.0.0.1:${proxy.port}`, timeoutMs: 300 }).visitedSet(
      set.name,
    );
    const done: string[] = [];
    const errors: unknown[] = [];
    const worker = new Worker(far, async ({ url }) => void done.push(url), {
      ...SOON,
      concurrency: 2,
      leaseSeconds: 3,
      onError: (error) => errors.push(error),
    });
    const working = worker.run();
    for (let cuts = 0; cuts < 10; cuts++) {
      await until('the connection was cut', async () => proxy.hasCut);
      proxy.cutAfter('reply', 200);
      if (done.length >= 40) break;
    }
    proxy.disarm();
    await working;
    await proxy.stop();
    expect(new Set(done)).toEqual(new Set(urls(40)));
    expect(await counts(set)).toEqual(EMPTY);
  });

  it('fails on a permanent refusal, after its URLs in progress', async () => {
    const set = await queueOf(urls(1));
    const lease = jest.spyOn(set, 'lease');
    let over = false;
    const worker = new Worker(
      set,
      async () => {
        await set.drop();
        await until('a lease is refused', async () => {
          const leases = await Promise.allSettled(lease.mock.results.map(({ value }) => value));
          return leases.some(({ status }) => status === 'rejected');
        });
        over = true;
      },
      { leaseSeconds: LONG, waitSeconds: 0, concurrency: 2 },
    );
    await expect(worker.run()).rejects.toMatchObject({ code: 'VISITED_SET_NOT_FOUND' });
    expect(over).toBe(true);
    expect(() => new Worker(set, async () => undefined, { concurrency: 0 })).toThrow(
      'concurrency must be a whole number from 1 to 1000, not 0',
    );
  });
});
