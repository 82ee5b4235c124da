import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sendList, UnseenClient, Worker, type VisitedSet, type WorkerOptions } from '#client';
import { STORES } from '../e2e/stores.js';
import { freshName, type TestApp } from '../support/app.js';
import { recordedFetch, type SentRequest } from '../support/recorded-fetch.js';

const DAY = 86_400;
const urlAt = (n: number): string => `https://example.org/${n}`;
const urls = (count: number): string[] => Array.from({ length: count }, (_, n) => urlAt(n));

describe.each(STORES)('URL order and time, $name store', ({ start }) => {
  let app: TestApp;
  let client: UnseenClient;
  let sent: SentRequest[];
  beforeAll(async () => {
    app = await start();
  });
  beforeEach(() => {
    const recorded = recordedFetch();
    sent = recorded.sent;
    client = new UnseenClient({ url: app.url, fetch: recorded.fetch });
  });
  afterAll(() => app.close());

  const made = async (options: object = {}): Promise<VisitedSet> => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 10_000, errorRate: 1e-9, ...options });
    sent.length = 0;
    return set;
  };
  const queue = async (set: VisitedSet): Promise<object> => {
    const description = await set.describe();
    if (!('queue' in description)) throw new Error('the set has lost data');
    const { waiting, leased, delayed, scheduled } = description.queue;
    return { waiting, leased, delayed, scheduled };
  };
  const EMPTY = { waiting: 0, leased: 0, delayed: 0, scheduled: 0 };

  it('go with the URLs in a call, an array and a list', async () => {
    const set = await made();
    expect(await set.discover(urlAt(0), { priority: 'low' })).toBe('new');
    expect(await set.discover([urlAt(1), urlAt(2)], { priority: 'high' })).toEqual(['new', 'new']);
    await sendList(set.discover, urls(2_500), { delaySeconds: DAY, priority: 'low' });
    expect(await queue(set)).toEqual({ ...EMPTY, waiting: 3, scheduled: 2_497 });
    const leased = await set.lease({ max: 10, leaseSeconds: 60 });
    expect(leased.map(({ url }) => url)).toEqual([urlAt(1), urlAt(2), urlAt(0)]);
    const [first, ...others] = leased.map(({ id }) => id);
    expect(await set.ack(first!, { againAfterSeconds: 60 })).toBe('acked');
    expect(await set.ack(others)).toEqual(['acked', 'acked']);
    expect(await queue(set)).toEqual({ ...EMPTY, scheduled: 2_498 });
  });

  it('separate calls that are made in the same moment', async () => {
    const set = await made();
    const discovered = [
      ...[set.discover(urlAt(0)), set.discover(urlAt(1), { priority: 'high' })],
      ...[set.discover(urlAt(2), { priority: 'high' }), set.discover(urlAt(3), { delaySeconds: 0 })],
      set.discover(urlAt(4), {}),
    ];
    expect(await Promise.all(discovered)).toEqual(Array(5).fill('new'));
    expect(sent.map(({ json }) => json)).toEqual([
      { urls: [urlAt(0), urlAt(4)] },
      { urls: [urlAt(1), urlAt(2)], priority: 'high' },
      { urls: [urlAt(3)], delaySeconds: 0 },
    ]);
    const ids = (await set.lease({ max: 10, leaseSeconds: 60 })).map(({ id }) => id);
    sent.length = 0;
    const again = [undefined, 60, 60, 61].map((againAfterSeconds) =>
      againAfterSeconds === undefined ? {} : { againAfterSeconds },
    );
    expect(await Promise.all(again.map((options, i) => set.ack(ids[i]!, options)))).toEqual(
      Array(4).fill('acked'),
    );
    expect(sent.map(({ json }) => json)).toEqual([
      { ids: [ids[0]] },
      { ids: [ids[1], ids[2]], againAfterSeconds: 60 },
      { ids: [ids[3]], againAfterSeconds: 61 },
    ]);
  });

  describe('a worker', () => {
    const SOON: WorkerOptions = { untilEmpty: true, waitSeconds: 0, concurrency: 1, leaseSeconds: 3_600 };

    it('schedules URLs as its handler says, and a run on the next day fetches them again', async () => {
      const set = await made();
      await set.discover(urls(4));
      const fetched: string[] = [];
      const results: unknown[] = [
        { againAfterSeconds: DAY - 0.5 },
        {},
        { againAfterSeconds: undefined },
        'x',
      ];
      const run = () =>
        new Worker(
          set,
          async ({ url }) => {
            fetched.push(url);
            return results[Number(url.split('/').at(-1))];
          },
          SOON,
        ).run();
      expect(await run()).toEqual({ done: 4, failed: 0, released: 0, lost: 0 });
      // It ends although a URL is scheduled.
      expect(await queue(set)).toEqual({ ...EMPTY, scheduled: 1 });
      expect(await run()).toEqual({ done: 0, failed: 0, released: 0, lost: 0 });
      app.advance(DAY * 1_000);
      expect(await run()).toEqual({ done: 1, failed: 0, released: 0, lost: 0 });
      expect(fetched).toEqual([...urls(4), urlAt(0)]);
    });

    it.each([0, -1, 315_360_001, NaN, '60 s', null])(
      'retries a URL whose handler says %p',
      async (seconds) => {
        const set = await made({ maxAttempts: 1 });
        await set.discover(urlAt(0));
        const errors: unknown[] = [];
        const worker = new Worker(set, async () => ({ againAfterSeconds: seconds }), {
          ...SOON,
          onError: (error) => errors.push(error),
        });
        expect(await worker.run()).toMatchObject({ done: 0, failed: 1 });
        expect(errors).toEqual([new RangeError(`againAfterSeconds must be 1 to 315360000, not ${seconds}`)]);
      },
    );

    it('reports that a set that ages refuses a time', async () => {
      const set = await made({ maxAgeSeconds: DAY });
      await set.discover(urlAt(0));
      const errors: string[] = [];
      const worker = new Worker(
        set,
        async () => {
          void worker.stop();
          return { againAfterSeconds: 60 };
        },
        { concurrency: 1, onError: (error) => errors.push((error as Error).name) },
      );
      expect(await worker.run()).toMatchObject({ done: 0, lost: 1 });
      expect(errors).toEqual(['ValidationError']);
    });
  });
});
