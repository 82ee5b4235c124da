import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freshName, type TestApp } from '../support/app.js';
import { scrape, type MetricsPage } from '../support/metrics.js';
import { Synced } from '../support/synced.js';
import { exported, importedAs } from './exports.js';
import { leasesWaiting } from './leases-waiting.js';
import { STORES } from './stores.js';

const DAY = 86_400;
const url = (n: number | string): string => `https://example.org/${n}`;

interface Leased {
  readonly id: string;
  readonly url: string;
  readonly payload?: string;
  readonly attempt: number;
}

describe.each(STORES)('order and time over HTTP, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  const results = async (set: Synced, route: string, body: object): Promise<string[]> => {
    const answer = await set.send('POST', route, body);
    expect(answer).toMatchObject({ status: 200 });
    return (answer.body as { results: string[] }).results;
  };
  const discover = (set: Synced, urls: readonly (string | object)[], options: object = {}) =>
    results(set, '/urls/discover', { urls, ...options });
  const lease = async (set: Synced, max = 10, more: object = {}): Promise<Leased[]> => {
    const answer = await set.send('POST', '/queue/lease', { max, leaseSeconds: 3_600, ...more });
    expect(answer).toMatchObject({ status: 200 });
    return (answer.body as { urls: Leased[] }).urls;
  };
  const leased = async (set: Synced, max?: number): Promise<string[]> =>
    (await lease(set, max)).map(({ url: one }) => one);
  const settle = (set: Synced, verb: string, entries: readonly Leased[], more: object = {}) =>
    results(set, `/queue/${verb}`, { ids: entries.map(({ id }) => id), ...more });
  /** The queue's states that aren't zero. */
  const queue = async (set: Synced): Promise<object> => {
    const { oldestSeconds: _, ...counts } = (await set.describe())['queue'] as Record<string, number>;
    return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
  };

  it('URLs with a higher priority come first, and keep their priority when they return', async () => {
    const set = await Synced.visitedSet(app);
    await discover(set, ['low-1', 'low-2'].map(url), { priority: 'low' });
    await discover(set, [url('normal')]);
    await discover(set, ['high-1', 'high-2'].map(url), { priority: 'high' });
    const first = await lease(set, 1);
    expect(first).toMatchObject([{ url: url('high-1') }]);
    await settle(set, 'release', first);
    expect(await leased(set)).toEqual(['high-2', 'high-1', 'normal', 'low-1', 'low-2'].map(url));
  });

  it('streams take a priority and a delay from their query', async () => {
    const set = await Synced.visitedSet(app);
    const answer = await fetch(
      `${app.url}${set.path}/urls/discover?priority=high&delaySeconds=60&results=none`,
      {
        method: 'POST',
        headers: { 'content-type': 'text/plain' },
        body: `${url('late-1')}\n${url('late-2')}\n`,
      },
    );
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"new":2')]);
    await discover(set, [url('normal')]);
    expect(await queue(set)).toEqual({ waiting: 1, scheduled: 2 });
    app.advance(60_000);
    expect(await leased(set)).toEqual(['late-1', 'late-2', 'normal'].map(url));
  });

  it('URLs discovered with a delay are visited immediately, and leased when it ends', async () => {
    const set = await Synced.visitedSet(app);
    expect(await discover(set, [{ url: url(1), payload: 'p' }], { delaySeconds: 7 * DAY })).toEqual(['new']);
    expect(await discover(set, [url(1)])).toEqual(['seen']);
    expect(await set.batch('check', [url(1)])).toEqual(['seen']);
    expect([await queue(set), await lease(set)]).toEqual([{ scheduled: 1 }, []]);
    app.advance(7 * DAY * 1_000);
    expect(await lease(set)).toMatchObject([{ url: url(1), payload: 'p', attempt: 1 }]);
  });

  it('a set that ages accepts a delay that is shorter than its URLs’ life', async () => {
    const set = await Synced.visitedSet(app, { maxAgeSeconds: DAY });
    expect(await discover(set, [url(1)], { delaySeconds: DAY - 1 })).toEqual(['new']);
    expect(await discover(set, [url(2)], { delaySeconds: 0, ttlSeconds: 60 })).toEqual(['new']);
    expect(await queue(set)).toEqual({ waiting: 1, scheduled: 1 });
  });

  it('a crawl runs again tomorrow, until its pages are forgotten', async () => {
    const set = await Synced.visitedSet(app, { maxAttempts: 2 });
    await discover(set, [{ url: url('a'), payload: 'depth 1' }, url('b')]);
    for (let day = 0; day < 3; day++) {
      const found = await lease(set);
      expect(found).toMatchObject([
        { url: url('a'), payload: 'depth 1', attempt: 1 },
        { url: url('b'), attempt: 1 },
      ]);
      expect(await settle(set, 'ack', found, { againAfterSeconds: DAY })).toEqual(['acked', 'acked']);
      expect(await settle(set, 'ack', found, { againAfterSeconds: DAY })).toEqual(['expired', 'expired']);
      expect(await discover(set, [url('a'), url('b')])).toEqual(['seen', 'seen']);
      app.advance((DAY - 3_600) * 1_000);
      expect([await queue(set), await lease(set)]).toEqual([{ scheduled: 2 }, []]);
      app.advance(3_600_000);
    }
    const [a, b] = await lease(set);
    await settle(set, 'ack', [a!], { againAfterSeconds: DAY });
    await settle(set, 'ack', [b!]);
    expect(await set.batch('forget', [url('a'), url('b')])).toEqual(['forgotten', 'forgotten']);
    app.advance(2 * DAY * 1_000);
    expect(await lease(set)).toEqual([]);
    expect(await discover(set, [url('a'), url('b')])).toEqual(['new', 'new']);
    expect(await leased(set)).toEqual([url('a'), url('b')]);
  });

  it('a lease that waits returns when a scheduled URL is due', async () => {
    const set = await Synced.visitedSet(app);
    await discover(set, [url(1)], { delaySeconds: 20 });
    const waiting = lease(set, 1, { waitSeconds: 30 });
    await leasesWaiting(app, 1);
    app.advance(20_000);
    expect(await waiting).toMatchObject([{ url: url(1) }]);
  });

  it('repeats get the same answer, and a different order or time is a different request', async () => {
    const set = await Synced.visitedSet(app);
    const send = (route: string, body: object, key: string) => set.send('POST', route, body, key);
    const reused = { status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } };
    const keys = { discover: freshName('key'), stream: freshName('key'), ack: freshName('key') };
    const urls = [url(1)];
    for (let turn = 0; turn < 2; turn++) {
      const sent = await send('/urls/discover', { urls, priority: 'high' }, keys.discover);
      expect(sent).toMatchObject({ status: 200, body: { results: ['new'] } });
      const late = await send('/urls/discover?delaySeconds=600', { urls: [url(2)] }, keys.stream);
      expect(late).toMatchObject({ status: 200, body: { results: ['new'] } });
    }
    expect(await send('/urls/discover', { urls, priority: 'low' }, keys.discover)).toMatchObject(reused);
    expect(await send('/urls/discover?delaySeconds=601', { urls: [url(2)] }, keys.stream)).toMatchObject(
      reused,
    );
    const ids = (await lease(set)).map(({ id }) => id);
    for (let turn = 0; turn < 2; turn++) {
      const acked = await send('/queue/ack', { ids, againAfterSeconds: 600 }, keys.ack);
      expect(acked).toMatchObject({ status: 200, body: { results: ['acked'] } });
    }
    expect(await send('/queue/ack', { ids, againAfterSeconds: 601 }, keys.ack)).toMatchObject(reused);
    expect(await queue(set)).toEqual({ scheduled: 2 });
  });

  it('/metrics counts scheduled URLs, and the oldest one by its time', async () => {
    const set = await Synced.visitedSet(app);
    await discover(set, [url(1), url(2)], { delaySeconds: 60 });
    const labels = `kind="visited-set",filter="${set.name}"`;
    const inState = (page: MetricsPage, state: string): number | undefined =>
      page.value(`unseen_queue_urls{${labels},state="${state}"}`);
    expect(inState(await scrape(app), 'scheduled')).toBe(2);
    app.advance(60_000);
    expect(await lease(set, 1)).toHaveLength(1);
    const due = await scrape(app);
    expect(inState(due, 'waiting')).toBe(1);
    expect(due.value(`unseen_queue_oldest_seconds{${labels}}`)).toBeLessThan(60);
  });

  it('hosts hand out their own URLs by priority', async () => {
    const set = await Synced.visitedSet(app, { perHost: {} });
    const of = (host: string, page: string): string => `https://${host}.example/${page}`;
    await discover(set, [of('a', 'low'), of('b', 'low')], { priority: 'low' });
    await discover(set, [of('a', 'high')], { priority: 'high' });
    expect(await leased(set, 1)).toEqual([of('a', 'high')]);
    expect((await leased(set)).sort()).toEqual([of('a', 'low'), of('b', 'low')]);
  });

  it('a sync forgets scheduled URLs that it doesn’t list', async () => {
    const set = await Synced.visitedSet(app);
    const all = ['listed', 'gone', 'late', 'waits'].map(url);
    await discover(set, [url('late')], { delaySeconds: DAY });
    await discover(set, [url('listed'), url('gone')]);
    await settle(set, 'ack', await lease(set), { againAfterSeconds: DAY });
    await discover(set, [url('waits')]);
    const { id } = await set.open();
    await set.listed(id, [url('listed')]);
    await set.committed(id, { force: true });
    expect(await set.batch('check', all)).toEqual(['seen', 'unseen', 'unseen', 'seen']);
    const [waits] = await lease(set);
    expect([waits?.url, await settle(set, 'ack', [waits!])]).toEqual([url('waits'), ['acked']]);
    app.advance(DAY * 1_000);
    expect(await leased(set)).toEqual([url('listed')]);
    expect(await discover(set, [url('gone'), url('late')])).toEqual(['new', 'new']);
  });

  it('exports carry the order and the times', async () => {
    const set = await Synced.visitedSet(app);
    await discover(set, [url('low')], { priority: 'low' });
    await discover(set, [url('normal')]);
    await discover(set, [url('high')], { priority: 'high', delaySeconds: DAY });
    const name = `${set.name}-copy`;
    expect(await importedAs(app, name, await exported(app, set.name))).toMatchObject({ status: 201 });
    const copied = set.through(app, name);
    expect(await queue(copied)).toEqual({ waiting: 2, scheduled: 1 });
    app.advance(DAY * 1_000);
    expect(await leased(copied)).toEqual(['high', 'normal', 'low'].map(url));
  });
});
