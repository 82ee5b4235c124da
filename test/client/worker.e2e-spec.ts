import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UnseenClient, Worker, type Task, type VisitedSet, type WorkerOptions } from '#client';
import { freshName, type TestApp } from '../support/app.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { STORES } from '../e2e/stores.js';

const urlAt = (i: number): string => `https://example.org/${i}`;
const urls = (count: number): string[] => Array.from({ length: count }, (_, i) => urlAt(i));
/** What no test waits for. */
const LONG = 600;

describe.each(STORES)('a worker, $name store', ({ start }) => {
  let app: TestApp;
  let client: UnseenClient;
  beforeAll(async () => {
    app = await start();
    client = new UnseenClient({ url: app.url });
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
  const counts = async (set: VisitedSet): Promise<object> => {
    const description = await set.describe();
    if (!('queue' in description)) throw new Error('the set has lost data');
    const { waiting, leased, delayed, dead } = description.queue;
    return { waiting, leased, delayed, dead };
  };
  const EMPTY = { waiting: 0, leased: 0, delayed: 0, dead: 0 };
  const SOON: WorkerOptions = { untilEmpty: true, delaySeconds: () => 0, leaseSeconds: LONG };

  it('does each URL once, no more at once than it may, those that it finds on the way too', async () => {
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
    expect(await worker.run()).toEqual({ done: 300, failed: 0, lost: 0 });
    expect(done.sort()).toEqual(urls(300).sort());
    expect(most).toBe(7);
    expect(await counts(set)).toEqual(EMPTY);
  });

  it('gives back what fails, with the reason, whatever is thrown', async () => {
    const set = await queueOf(urls(8), 1);
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
    expect(await worker.run()).toEqual({ done: 0, failed: 8, lost: 0 });
    expect(told).toHaveLength(8);
    const reasons = new Map<string, string>();
    for await (const { url, reason } of set.deadLetters()) reasons.set(url, reason);
    expect(urls(8).map((url) => reasons.get(url))).toEqual([
      ...[
        'HTTP 500',
        'TypeError: fetch failed',
        'null',
        'undefined',
        'the handler failed',
        'the handler failed',
      ],
      ...['€'.repeat(85), 'x'.repeat(255)],
    ]);
  });

  it('tries again what failed, and waits for what is delayed before it says that there is nothing left', async () => {
    const set = await queueOf(urls(3));
    const attempts: number[] = [];
    const handler = async ({ url, attempt }: Task): Promise<void> => {
      if (url !== urlAt(1)) return;
      attempts.push(attempt);
      if (attempt < 3) throw new Error('not yet');
    };
    const worker = new Worker(set, handler, { ...SOON, delaySeconds: () => 1 });
    expect(await worker.run()).toEqual({ done: 3, failed: 2, lost: 0 });
    expect(attempts).toEqual([1, 2, 3]);
  });

  it('waits for what others have leased, and does what comes back of it', async () => {
    const set = await queueOf(urls(2));
    const [other] = await set.lease({ max: 1, leaseSeconds: LONG });
    const done: string[] = [];
    const working = new Worker(set, async ({ url }) => void done.push(url), SOON).run();
    await until('the worker has done the rest', async () => done.length === 1);
    expect(
      await Promise.race([working, new Promise((resolve) => setTimeout(resolve, 1_000, 'goes on'))]),
    ).toBe('goes on');
    await set.release(other!.id);
    expect(await working).toEqual({ done: 2, failed: 0, lost: 0 });
    expect(new Set(done)).toEqual(new Set(urls(2)));
  });

  it('keeps its leases while it works, and says when one is lost', async () => {
    const set = await queueOf(urls(2));
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const tasks: Task[] = [];
    const handler = async (task: Task): Promise<void> => {
      tasks.push(task);
      await ended;
    };
    const working = new Worker(set, handler, { untilEmpty: true, leaseSeconds: 8 }).run();
    await until('both are leased', async () => tasks.length === 2);
    await set.forget(tasks[0]!.url);
    await until('the handler is told', async () => tasks[0]!.signal.aborted);
    // Longer than the lease.
    await new Promise((resolve) => setTimeout(resolve, 9_000));
    expect(await set.lease({ max: 1, leaseSeconds: 1 })).toEqual([]);
    end();
    expect(await working).toEqual({ done: 1, failed: 0, lost: 1 });
    expect(tasks[1]!.signal.aborted).toBe(false);
  });

  it('that is stopped ends what it has begun and takes nothing more', async () => {
    const set = await queueOf(urls(100));
    let begun = 0;
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const worker = new Worker(set, () => (begun++, ended), { concurrency: 5, leaseSeconds: LONG });
    const working = worker.run();
    await until('it works', async () => begun === 5);
    const stopping = worker.stop();
    end();
    await stopping;
    expect(await working).toEqual({ done: 5, failed: 0, lost: 0 });
    expect(await counts(set)).toEqual({ ...EMPTY, waiting: 95 });
    expect(await worker.run()).toEqual({ done: 5, failed: 0, lost: 0 });
  });

  it('that is stopped while it waits for URLs leaves none leased', async () => {
    const set = await queueOf([]);
    let all = 0;
    for (let n = 0; n < 20; n++) {
      const worker = new Worker(set, async () => undefined, { waitSeconds: 30, leaseSeconds: LONG });
      const working = worker.run();
      // In the moment in which something comes.
      const [, { done }] = await Promise.all([set.discover(urlAt(n)).then(() => worker.stop()), working]);
      await until('nothing is leased', async () => {
        const { leased } = (await counts(set)) as { leased: number };
        return leased === 0;
      });
      all += done;
    }
    expect(await counts(set)).toEqual({ ...EMPTY, waiting: 20 - all });
  });

  it('waits while the service is away, and goes on', async () => {
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

  it('ends with what is refused for good, when what it had begun is over', async () => {
    const set = await queueOf(urls(1));
    let over = false;
    const worker = new Worker(
      set,
      async () => {
        await set.drop();
        await new Promise((resolve) => setTimeout(resolve, 50));
        over = true;
      },
      { leaseSeconds: LONG, waitSeconds: 1, concurrency: 2 },
    );
    await expect(worker.run()).rejects.toMatchObject({ code: 'VISITED_SET_NOT_FOUND' });
    expect(over).toBe(true);
    expect(() => new Worker(set, async () => undefined, { concurrency: 0 })).toThrow(
      'concurrency must be a whole number from 1 to 1000, not 0',
    );
  });
});
