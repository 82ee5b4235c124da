import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { TestApp } from '../support/app.js';
import { Store } from '../support/in-process.js';
import { idsOf, QueuedSet, urls, urlsOf } from './queued-set.js';
import { STORES } from './stores.js';

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Expects two times to be at most ten minutes apart. */
function expectAbout(iso: string | undefined, at: number): void {
  expect(iso).toMatch(ISO);
  expect(Math.abs(Date.parse(iso ?? '') - at)).toBeLessThan(600_000);
}

describe.each(STORES)('listing the queue’s URLs over HTTP, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  it('lists URLs in every state, with their state, attempts and times', async () => {
    const { set } = await QueuedSet.mixed(app);
    const found = await set.list();
    const dueAt = expect.stringMatching(ISO);
    for (const { id, queuedAt } of found) {
      expect(id).toEqual(expect.any(String));
      expectAbout(queuedAt, app.now());
    }
    for (const { dueAt: at } of found.filter(({ state }) => state === 'delayed' || state === 'leased'))
      expectAbout(at, app.now() + 3_600_000);
    const known = found.map(({ id: _, queuedAt: __, ...others }) => others);
    expect(known.sort((a, b) => (a.url < b.url ? -1 : 1))).toEqual([
      { url: 'https://a.example/0', payload: 'p', state: 'dead', attempt: 1, reason: 'HTTP 410' },
      { url: 'https://a.example/1', state: 'delayed', attempt: 0, dueAt },
      { url: 'https://a.example/2', state: 'leased', attempt: 1, dueAt },
      { url: 'https://a.example/3', state: 'waiting', attempt: 0 },
    ]);
  });

  it('tells when scheduled URLs are due and, once they are back, since when they have waited', async () => {
    const set = await QueuedSet.create(app);
    const later = 'https://a.example/later';
    await set.discover('https://a.example/again');
    await set.settle('ack', [(await set.lease())[0]?.id ?? ''], { againAfterSeconds: 7_200 });
    await set.post('urls/discover', { urls: [later], delaySeconds: 7_200 });
    const scheduled = await set.list();
    expect(scheduled.map(({ state, queuedAt }) => [state, queuedAt])).toEqual([
      ['scheduled', undefined],
      ['scheduled', undefined],
    ]);
    const due = app.now() + 7_200_000;
    for (const { dueAt } of scheduled) expectAbout(dueAt, due);
    app.advance(7_300_000);
    const back = await set.lease();
    await set.settle('release', idsOf(back));
    const waiting = await set.list();
    expect(waiting.map(({ state, dueAt }) => [state, dueAt])).toEqual([
      ['waiting', undefined],
      ['waiting', undefined],
    ]);
    for (const { queuedAt } of waiting) expectAbout(queuedAt, due);
  });

  it('names each URL’s host in a set with perHost', async () => {
    const set = await QueuedSet.create(app, { perHost: {} });
    await set.discover('https://A.example:8443/1', 'https://b.example/1');
    const found = await set.list();
    expect(found.map(({ url, host }) => [url, host]).sort()).toEqual([
      ['https://A.example:8443/1', 'a.example'],
      ['https://b.example/1', 'b.example'],
    ]);
  });

  it.each([
    ['waiting', 3],
    ['leased', 2],
    ['delayed', 1],
    ['dead', 0],
  ])('selects URLs in the state %s', async (state, n) => {
    const { set } = await QueuedSet.mixed(app);
    expect(urlsOf(await set.list({ state }))).toEqual(urls('a.example', 1, n));
  });

  it('selects URLs by their beginning, as they were queued', async () => {
    const set = await QueuedSet.create(app);
    await set.discover(...urls('a.example/old', 3), ...urls('a.example/older', 2), 'HTTPS://a.example/old/9');
    expect(urlsOf(await set.list({ prefix: 'https://a.example/old/' }))).toEqual(urls('a.example/old', 3));
    expect(await set.list({ prefix: 'https://a.example/o' })).toHaveLength(5);
    expect(urlsOf(await set.list({ prefix: 'HTTPS://a' }))).toEqual(['HTTPS://a.example/old/9']);
    expect(await set.list({ prefix: 'https://b' })).toEqual([]);
  });

  it('selects URLs by host, state and beginning together', async () => {
    const set = await QueuedSet.create(app, { perHost: {} });
    await set.discover(...urls('a.example/x', 2), ...urls('a.example/y', 2), ...urls('b.example/x', 2));
    expect(urlsOf(await set.list({ host: 'A.example' }))).toEqual([
      ...urls('a.example/x', 2),
      ...urls('a.example/y', 2),
    ]);
    expect(urlsOf(await set.list({ prefix: 'https://a.example/x' }))).toEqual(urls('a.example/x', 2));
    expect(urlsOf(await set.list({ prefix: 'https://a.exa' }))).toHaveLength(4);
    expect(await set.list({ host: 'b.example', prefix: 'https://a.example/' })).toEqual([]);
    const [one] = await set.lease(1);
    expect(urlsOf(await set.list({ host: 'a.example', state: 'leased' }))).toEqual([one?.url]);
  });

  it.each([
    ['https://www.a.example/', 'a.example'],
    ['https://user:pass@WWW.a.example:8443/1', 'a.example'],
    ['https://a.example?x', 'a.example'],
    ['https://a.exampl', undefined],
    ['https://a.example', undefined],
    ['https://a b/', undefined],
  ])('reads, for the beginning %s, the URLs from host %s', async (prefix, host) => {
    const set = await QueuedSet.create(app, { perHost: {}, urlProfile: { base: 'safe', stripWww: true } });
    const sent = ['https://www.a.example/1', 'https://a.example?x=1', 'https://a.example.org/'];
    await set.discover(...sent, 'https://user:pass@WWW.a.example:8443/1');
    const entries = jest.spyOn(app.app.get<Store>(Store).queue, 'entries');
    const found = urlsOf(await set.list({ prefix }));
    expect(entries.mock.calls.map(([, query]) => query.host)).toEqual([host]);
    entries.mockRestore();
    const all = urlsOf(await set.list());
    expect(all).toHaveLength(4);
    expect(found).toEqual(all.filter((url) => url.startsWith(prefix)));
  });

  it('reads pages of any size, and lists each URL once', async () => {
    const set = await QueuedSet.create(app, { perHost: {} });
    const sent = [...urls('a.example/x', 700), ...urls('a.example/y', 700), ...urls('b.example/x', 700)];
    for (let n = 0; n < sent.length; n += 700) await set.discover(...sent.slice(n, n + 700));
    for (const limit of ['97', '1000']) {
      expect(urlsOf(await set.list({ limit }))).toEqual([...sent].sort());
      expect(urlsOf(await set.list({ limit, prefix: 'https://a.example/y/' }))).toEqual(
        urls('a.example/y', 700).sort(),
      );
    }
    const first = await set.page({ limit: '10', prefix: 'https://a.example/' });
    expect(first.urls).toHaveLength(10);
    expect(first.next).toEqual(expect.any(String));
  });

  it('reads at most 10,000 URLs in a call', async () => {
    const set = await QueuedSet.create(app, { capacity: 20_000 });
    const sent = urls('a.example', 11_000);
    for (let n = 0; n < sent.length; n += 1_000) await set.discover(...sent.slice(n, n + 1_000));
    await set.discover('https://b.example/');
    const empty = await set.page({ prefix: 'https://b.example/' });
    expect(empty).toEqual({ urls: [], next: expect.any(String) });
    expect(urlsOf(await set.list({ prefix: 'https://b.example/' }))).toEqual(['https://b.example/']);
    const { matched, next } = await set.drop({ all: true, dryRun: true });
    expect(matched).toBeLessThanOrEqual(10_000);
    expect(next).toEqual(expect.any(String));
  });

  it('returns a few MiB at most, however long the URLs are', async () => {
    const set = await QueuedSet.create(app);
    const long = (n: number): string => `https://a.example/${n}?${'x'.repeat(8_000)}`;
    for (let n = 0; n < 500; n += 100)
      await set.discover(
        ...Array.from({ length: 100 }, (_, i) => ({ url: long(n + i), payload: 'p'.repeat(1_000) })),
      );
    const { urls: some, next } = await set.page({ limit: '1000' });
    expect(some.length * 9_000).toBeLessThan(2.5 * 2 ** 20);
    expect(next).toEqual(expect.any(String));
    expect(await set.list({ limit: '1000' })).toHaveLength(500);
  });

  it.each([{}, { perHost: {} }])(
    'selects URLs by prefix with any case of the scheme and any slashes before the host, in a set with %j',
    async (more) => {
      const set = await QueuedSet.create(app, more);
      const spellings = [
        ...['https:///a.example/1', 'https:/a.example/2', 'https:a.example/3', 'HTTPS:\\\\a.example\\4'],
        ...['https://a.example/5', 'https:\\/a.example/6'],
      ];
      await set.discover(...spellings, 'https:///b.example/1');
      for (const url of spellings) {
        expect(urlsOf(await set.list({ prefix: url }))).toEqual([url]);
        expect(urlsOf(await set.list({ prefix: url.slice(0, -1) }))).toEqual([url]);
      }
      expect(urlsOf(await set.list({ prefix: 'https:///b' }))).toEqual(['https:///b.example/1']);
    },
  );

  it.each<[Record<string, string>, string]>([
    [
      { prefix: 'a.example' },
      'prefix must begin with http: or https: and contain the first character of a host, not "a.example"',
    ],
    [{ prefix: 'ftp://a.example/' }, 'not "ftp://a.example/"'],
    [{ prefix: 'https://' }, 'not "https://"'],
    [{ prefix: 'https:' }, 'not "https:"'],
    [{ prefix: 'https:///' }, 'not "https:///"'],
    [{ prefix: 'https:///?a' }, 'not "https:///?a"'],
    [
      { state: 'away' },
      'state must be one of "waiting", "leased", "delayed", "scheduled", "dead", not "away"',
    ],
    [{ limit: '1001' }, 'limit must be a whole number from 1 to 1000, not "1001"'],
    [{ cursor: '€' }, 'cursor must be the `next` from the previous answer'],
    [{ host: 'https://a.example/' }, 'host must be a name or an address without scheme'],
    [{ page: '2' }, '"page" is not a member'],
  ])('refuses %j', async (query, why) => {
    const set = await QueuedSet.create(app, { perHost: {} });
    expect(await set.get('queue/urls', query)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED', detail: expect.stringContaining(why) },
    });
  });
});
