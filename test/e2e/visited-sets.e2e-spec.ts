import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, type TestApp } from '../support/app.js';
import { STORES } from './stores.js';

describe.each(STORES)('visited sets over HTTP, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  const create = async (overrides: object = {}): Promise<string> => {
    const name = freshName('v');
    expect(
      await call(app, 'POST', '/v1/visited-sets', { name, capacity: 1_000, ...overrides }),
    ).toMatchObject({ status: 201 });
    return name;
  };
  const urls = async (name: string, verb: string, list: string[]): Promise<unknown> => {
    const { status, body } = await call(app, 'POST', `/v1/visited-sets/${name}/urls/${verb}`, { urls: list });
    expect(status).toBe(200);
    return body;
  };
  interface Lease {
    urls: { id: string; url: string; attempt: number }[];
  }
  const lease = async (name: string, max: number, leaseSeconds: number): Promise<Lease['urls']> => {
    const { status, body } = await call(app, 'POST', `/v1/visited-sets/${name}/queue/lease`, {
      max,
      leaseSeconds,
    });
    expect(status).toBe(200);
    return (body as Lease).urls;
  };
  const settle = async (name: string, how: string, ids: string[]): Promise<unknown> =>
    (await call(app, 'POST', `/v1/visited-sets/${name}/queue/${how}`, { ids })).body;

  it('fills in defaults and shows profile and queue', async () => {
    const name = freshName('v');
    const { status, headers, body } = await call(app, 'POST', '/v1/visited-sets', { name, capacity: 1_000 });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`/v1/visited-sets/${name}`);
    expect(body).toMatchObject({
      name,
      type: 'counting',
      semantics: 'set',
      errorRate: 1e-4,
      urlProfile: { base: 'safe', version: 1 },
      queue: { waiting: 0, leased: 0 },
    });
    expect(body).not.toHaveProperty('seed');
    const same = { name, capacity: 1_000, errorRate: 1e-4, urlProfile: { base: 'safe' } };
    expect(await call(app, 'POST', '/v1/visited-sets', same)).toMatchObject({ status: 200 });
    const other = { ...same, urlProfile: 'strict' };
    expect(await call(app, 'POST', '/v1/visited-sets', other)).toMatchObject({ status: 409 });
    expect(await call(app, 'GET', `/v1/filters/${name}`)).toMatchObject({
      status: 404,
      body: { code: 'FILTER_NOT_FOUND' },
    });
  });

  it('discovers by URL identity, queues new URLs as sent, and names invalid ones', async () => {
    const name = await create();
    const batch = [
      'HTTP://Example.org:80/a?b=2&a=1',
      'nonsense',
      'http://example.org/a?a=1&b=2',
      '',
      'ftp://x.org/',
    ];
    expect(await urls(name, 'discover', batch)).toEqual({
      results: ['new', 'invalid', 'seen', 'invalid', 'invalid'],
      counts: { new: 1, seen: 1, invalid: 3 },
      invalid: [
        { index: 1, reason: 'not absolute' },
        { index: 3, reason: 'empty' },
        { index: 4, reason: 'scheme not http or https' },
      ],
    });
    expect(await urls(name, 'check', ['http://example.org/a?a=1&b=2', 'http://example.org/b'])).toEqual({
      results: ['seen', 'unseen'],
      counts: { unseen: 1, seen: 1, invalid: 0 },
      invalid: [],
    });
    expect(await lease(name, 10, 60)).toEqual([{ id: expect.any(String), url: batch[0], attempt: 1 }]);
    expect(await urls(name, 'discover', ['nonsense'])).toMatchObject({ results: ['invalid'] });
  });

  it('visits URLs without queueing them, and forgets them so that they are new again', async () => {
    const name = await create();
    expect(await urls(name, 'visit', ['http://a.org/', 'http://a.org'])).toMatchObject({
      results: ['new', 'seen'],
    });
    expect(await lease(name, 10, 60)).toEqual([]);
    await urls(name, 'discover', ['http://b.org/']);
    expect((await call(app, 'GET', `/v1/visited-sets/${name}`)).body).toMatchObject({
      items: 2,
      queue: { waiting: 1, leased: 0 },
    });
    expect(await urls(name, 'forget', ['http://b.org/', 'http://c.org/', 'http:'])).toMatchObject({
      results: ['forgotten', 'absent', 'invalid'],
      counts: { forgotten: 1, absent: 1, saturated: 0, invalid: 1 },
    });
    expect(await lease(name, 10, 60)).toEqual([]);
    expect(await urls(name, 'discover', ['http://b.org/'])).toMatchObject({ results: ['new'] });
    expect(await lease(name, 10, 60)).toHaveLength(1);
  });

  it('leases, acknowledges, releases, and expires leases', async () => {
    const name = await create();
    await urls(name, 'discover', ['http://a.org/', 'http://b.org/', 'http://c.org/']);
    const first = await lease(name, 2, 60);
    expect(first).toHaveLength(2);
    expect((await call(app, 'GET', `/v1/visited-sets/${name}`)).body).toMatchObject({
      queue: { waiting: 1, leased: 2 },
    });
    const [a, b] = first.map(({ id }) => id) as [string, string];
    expect(await settle(name, 'ack', [a, 'no such id', a])).toEqual({
      results: ['acked', 'unknown', 'expired'],
    });
    expect(await settle(name, 'release', [b])).toEqual({ results: ['released'] });
    const again = await lease(name, 10, 600);
    expect(again.map(({ attempt }) => attempt).sort()).toEqual([1, 2]);
    expect(await lease(name, 10, 60)).toEqual([]);
    app.advance(600_000);
    expect(await lease(name, 10, 60)).toHaveLength(2);
    expect(await settle(name, 'ack', [again[0]?.id as string])).toEqual({ results: ['expired'] });
  });

  it('also clears the queue', async () => {
    const name = await create();
    await urls(name, 'discover', ['http://a.org/']);
    expect(await call(app, 'POST', `/v1/visited-sets/${name}/clear`)).toMatchObject({
      status: 200,
      body: { items: 0, queue: { waiting: 0, leased: 0 } },
    });
    expect(await lease(name, 10, 60)).toEqual([]);
    expect(await call(app, 'DELETE', `/v1/visited-sets/${name}`)).toMatchObject({ status: 204 });
  });

  it('lists visited sets apart from filters', async () => {
    const name = await create();
    const { body } = await call(app, 'GET', '/v1/visited-sets?limit=1000');
    expect((body as { visitedSets: { name: string }[] }).visitedSets.map((set) => set.name)).toContain(name);
    expect(JSON.stringify((await call(app, 'GET', '/v1/filters')).body)).not.toContain(name);
  });

  it('answers 404 on every route if the set doesn’t exist', async () => {
    const name = freshName('v');
    const bodies = {
      ...Object.fromEntries(
        ['discover', 'visit', 'check', 'forget'].map((verb) => [`urls/${verb}`, { urls: ['http://a.org/'] }]),
      ),
      'queue/lease': { max: 1, leaseSeconds: 1 },
      'queue/ack': { ids: ['x'] },
      'queue/release': { ids: ['x'] },
      clear: undefined,
    };
    for (const [path, body] of Object.entries(bodies)) {
      const answer = await call(app, 'POST', `/v1/visited-sets/${name}/${path}`, body);
      expect(answer).toMatchObject({ status: 404, body: { code: 'VISITED_SET_NOT_FOUND' } });
    }
  });
});
