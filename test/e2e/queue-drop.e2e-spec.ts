import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { call, freshName, type TestApp } from '../support/app.js';
import { Store } from '../support/in-process.js';
import { QueuedSet, urls, urlsOf, type Dropped } from './queued-set.js';
import { STORES } from './stores.js';

describe.each(STORES)('dropping URLs from the queue over HTTP, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  it('drops the URLs that match, which stay visited', async () => {
    const set = await QueuedSet.create(app);
    await set.discover(...urls('a.example/old', 3), ...urls('a.example/new', 2));
    const asked = { prefix: 'https://a.example/old/' };
    expect(await set.drop({ ...asked, dryRun: true })).toEqual({ matched: 3, dropped: 0 });
    expect(await set.list()).toHaveLength(5);
    expect(await set.drop(asked)).toEqual({ matched: 3, dropped: 3 });
    expect(urlsOf(await set.list())).toEqual(urls('a.example/new', 2));
    expect(urlsOf(await set.lease())).toEqual(urls('a.example/new', 2));
    expect(await set.check(...urls('a.example/old', 3))).toEqual(['seen', 'seen', 'seen']);
    expect(await set.discover(...urls('a.example/old', 3))).toEqual(['seen', 'seen', 'seen']);
  });

  it.each([{}, { perHost: {} }])('drops URLs in every state, in a set with %j', async (more) => {
    const { set, leased } = await QueuedSet.mixed(app, more);
    const letters = await set.deadLetters();
    expect(urlsOf(letters)).toEqual(['https://a.example/0']);
    expect(await set.drop({ all: true })).toEqual({ matched: 4, dropped: 4 });
    expect(await set.list()).toEqual([]);
    expect(await set.deadLetters()).toEqual([]);
    expect(await set.settle('ack', leased)).toEqual(['unknown']);
    const ids = letters.map(({ id }) => id);
    expect(await set.settle('dead-letters/put-back', ids)).toEqual(['unknown']);
    app.advance(3_600_000);
    expect(await set.lease()).toEqual([]);
  });

  it('drops only URLs in one state', async () => {
    const { set } = await QueuedSet.mixed(app);
    expect(await set.drop({ state: 'dead' })).toEqual({ matched: 1, dropped: 1 });
    expect(urlsOf(await set.list())).toEqual(urls('a.example', 3, 1));
    expect(await set.drop({ state: 'leased', prefix: 'https://b.example/' })).toEqual({
      matched: 0,
      dropped: 0,
    });
  });

  it('drops waiting URLs, as the description counts them, also if their lease or delay has ended', async () => {
    const { set } = await QueuedSet.mixed(app, { maxAttempts: 2 });
    app.advance(2_000_000);
    // Lease one more, so that its lease has not ended when the others have.
    await set.lease(1);
    app.advance(2_000_000);
    const { queue } = (await call(app, 'GET', `/v1/visited-sets/${set.name}`)).body as {
      queue: { waiting: number; leased: number };
    };
    expect(queue).toMatchObject({ waiting: 3, leased: 1 });
    expect(await set.drop({ state: 'waiting' })).toEqual({ matched: 3, dropped: 3 });
    expect(await set.list()).toMatchObject([{ state: 'leased' }]);
  });

  it('drops only one host’s URLs', async () => {
    const set = await QueuedSet.create(app, { perHost: {} });
    await set.discover(...urls('a.example', 3), ...urls('b.example', 2));
    expect(await set.drop({ host: 'a.example' })).toEqual({ matched: 3, dropped: 3 });
    expect(urlsOf(await set.lease())).toEqual(urls('b.example', 2));
  });

  it('also forgets the URLs if asked to, so that they can be discovered again', async () => {
    const set = await QueuedSet.create(app, { perHost: { maxUrls: 3 } });
    await set.discover(...urls('a.example', 3), ...urls('b.example', 1));
    const asked = { host: 'a.example', forget: true };
    expect(await set.drop({ ...asked, dryRun: true })).toEqual({ matched: 3, dropped: 0, forgotten: 0 });
    expect(await set.drop(asked)).toEqual({ matched: 3, dropped: 3, forgotten: 3 });
    expect(await set.check(...urls('a.example', 3), ...urls('b.example', 1))).toEqual([
      ...['unseen', 'unseen', 'unseen'],
      'seen',
    ]);
    expect(await set.discover(...urls('a.example', 4))).toEqual(['new', 'new', 'new', 'limited']);
    expect(await set.list()).toHaveLength(4);
    expect(await set.drop(asked)).toEqual({ matched: 3, dropped: 3, forgotten: 3 });
  });

  it('forgets URLs even if a first attempt fails on the way', async () => {
    const set = await QueuedSet.create(app);
    await set.discover(...urls('a.example', 2));
    const remove = jest.spyOn(app.app.get<Store>(Store).counters, 'remove');
    remove.mockRejectedValueOnce(new Error('the connection is lost'));
    const asked = [{ all: true, forget: true }, freshName('key')] as const;
    expect(await set.post('queue/drop', ...asked)).toMatchObject({ status: 500 });
    remove.mockRestore();
    expect(await set.drop(...asked)).toEqual({ matched: 2, dropped: 2, forgotten: 2 });
    expect(await set.check(...urls('a.example', 2))).toEqual(['unseen', 'unseen']);
  });

  it('also drops URLs that it can’t forget, because their age has forgotten them', async () => {
    const set = await QueuedSet.create(app, { maxAgeSeconds: 60 });
    await set.discover(...urls('a.example', 2));
    app.advance(120_000);
    await set.discover(...urls('b.example', 1));
    expect(await set.drop({ all: true, forget: true })).toEqual({ matched: 3, dropped: 3, forgotten: 1 });
    expect(await set.lease()).toEqual([]);
  });

  it('drops a part of the queue, and continues after it', async () => {
    const set = await QueuedSet.create(app);
    await set.discover(...urls('a.example', 5), ...urls('b.example', 2));
    const asked = { prefix: 'https://a.example/', limit: 2 };
    const counts: number[] = [];
    let cursor: string | undefined;
    do {
      const { dropped, next }: Dropped = await set.drop({
        ...asked,
        ...(cursor !== undefined && { cursor }),
      });
      counts.push(dropped);
      cursor = next;
    } while (cursor !== undefined);
    expect(counts.reduce((sum, count) => sum + count)).toBe(5);
    expect(Math.max(...counts)).toBe(2);
    expect(urlsOf(await set.list())).toEqual(urls('b.example', 2));
  });

  it('answers a repeat like the first attempt, and changes nothing', async () => {
    const set = await QueuedSet.create(app);
    await set.discover(...urls('a.example', 3));
    const key = freshName('key').padEnd(255, 'x');
    const first = await set.drop({ all: true, forget: true, limit: 2 }, key);
    expect(first).toMatchObject({ matched: 2, dropped: 2, forgotten: 2, next: expect.any(String) });
    await set.discover(...urls('b.example', 1));
    expect(await set.drop({ all: true, forget: true, limit: 2 }, key)).toEqual(first);
    expect(await set.list()).toHaveLength(2);
  });

  it('answers a repeated call without a key like the first attempt', async () => {
    const set = await QueuedSet.create(app);
    await set.discover(...urls('a.example', 3));
    const { body, headers } = await set.post('queue/drop', { all: true });
    await set.discover(...urls('b.example', 1));
    expect(await set.drop({ all: true }, headers.get('idempotency-key')!)).toEqual(body);
    expect(await set.list()).toHaveLength(1);
  });

  it('finishes a failed attempt’s drop, and counts only the remaining URLs', async () => {
    const set = await QueuedSet.create(app);
    await set.discover(...urls('a.example', 1_500));
    const { queue } = app.app.get<Store>(Store);
    const really = queue.drop.bind(queue);
    const drop = jest.spyOn(queue, 'drop');
    drop.mockImplementationOnce(async (...args) => {
      await really(...args);
      throw new Error('the connection is lost');
    });
    const key = freshName('key');
    expect(await set.post('queue/drop', { all: true }, key)).toMatchObject({ status: 500 });
    drop.mockRestore();
    const left = (await set.list()).length;
    expect(left).toBeLessThan(1_500);
    const rest = { matched: left, dropped: left };
    expect(await set.drop({ all: true }, key)).toEqual(rest);
    expect(await set.drop({ all: true }, key)).toEqual(rest);
  });

  it.each([{ state: 'dead' }, { all: true, dryRun: true }, { all: true, forget: true }])(
    'refuses another drop’s key for %j, and drops nothing',
    async (other) => {
      const set = await QueuedSet.create(app);
      await set.discover(...urls('a.example', 1));
      const key = freshName('key');
      await set.drop({ all: true }, key);
      await set.discover(...urls('b.example', 1));
      const refused = { status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } };
      expect(await set.post('queue/drop', other, key)).toMatchObject(refused);
      expect(await set.list()).toHaveLength(1);
    },
  );

  it.each([{ host: 'a.example' }, { all: true, limit: 0 }])(
    'lets the key of a call that it refuses be used again: %j',
    async (refused) => {
      const set = await QueuedSet.create(app);
      await set.discover(...urls('a.example', 1));
      const key = freshName('key');
      expect(await set.post('queue/drop', refused, key)).toMatchObject({ status: 400 });
      expect(await set.drop({ all: true }, key)).toEqual({ matched: 1, dropped: 1 });
    },
  );

  it('refuses the key of a drop that hasn’t ended', async () => {
    const set = await QueuedSet.create(app);
    await set.discover(...urls('a.example', 1));
    const entries = jest.spyOn(app.app.get<Store>(Store).queue, 'entries');
    entries.mockRejectedValueOnce(new Error('the connection is lost'));
    const key = freshName('key');
    expect(await set.post('queue/drop', { all: true }, key)).toMatchObject({ status: 500 });
    entries.mockRestore();
    const refused = { status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } };
    expect(await set.post('queue/drop', { state: 'waiting' }, key)).toMatchObject(refused);
    expect(await set.list()).toHaveLength(1);
  });

  it.each([
    [
      {},
      'all is missing: to drop the whole queue, set all to true; otherwise select URLs with state, host or prefix',
    ],
    [{ dryRun: true, forget: true }, 'all is missing: to drop the whole queue, set all to true'],
    [{ all: false }, 'all must be true, not false'],
    [
      { all: true, state: 'dead' },
      'all is not allowed (got true): state "dead" selects only a part of the queue',
    ],
    [{ all: true, host: 'a.example' }, 'all is not allowed (got true): host "a.example"'],
    [{ all: true, prefix: 'https://a' }, 'all is not allowed (got true): prefix "https://a"'],
    [{ all: true, forget: 'yes' }, 'forget must be true or false, not "yes"'],
    [{ all: true, dryRun: 1 }, 'dryRun must be true or false, not 1'],
    [{ all: true, limit: 10_001 }, 'limit must be a whole number from 1 to 10000, not 10001'],
    [
      { prefix: 5 },
      'prefix must begin with http: or https: and contain the first character of a host, not 5',
    ],
    [{ prefix: 'https://?' }, 'not "https://?"'],
    [{ host: 5 }, 'host must be a string, not 5'],
    [{ host: 'a.example' }, 'host is not allowed (got "a.example"): visited set'],
    [{ state: ['dead'] }, 'not an array of 1'],
    [{ all: true, cursor: '' }, 'cursor must be the `next` from the previous answer, not ""'],
    [{ all: true, url: 'x' }, '"url" is not a member'],
  ])('refuses %j, and drops nothing', async (body, why) => {
    const set = await QueuedSet.create(app);
    await set.discover(...urls('a.example', 1));
    expect(await set.post('queue/drop', body)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED', detail: expect.stringContaining(why) },
    });
    expect(await set.list()).toHaveLength(1);
  });

  it('isn’t found for a set that doesn’t exist, or for a filter', async () => {
    const name = freshName();
    await call(app, 'POST', '/v1/filters', { name, type: 'counting', capacity: 10, errorRate: 0.01 });
    for (const missing of [name, freshName()]) {
      const path = `/v1/visited-sets/${missing}/queue`;
      const lost = { status: 404, body: { code: 'VISITED_SET_NOT_FOUND' } };
      expect(await call(app, 'GET', `${path}/urls`)).toMatchObject(lost);
      expect(await call(app, 'POST', `${path}/drop`, { all: true })).toMatchObject(lost);
    }
  });
});
