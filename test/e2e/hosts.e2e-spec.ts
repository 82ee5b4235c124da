import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { call, freshName, type Answer, type TestApp } from '../support/app.js';
import { Store } from '../support/in-process.js';
import { exported, importedAs } from './exports.js';
import { leasesWaiting } from './leases-waiting.js';
import { STORES } from './stores.js';

const SETS = '/v1/visited-sets';

interface Leased {
  readonly id: string;
  readonly url: string;
  readonly attempt: number;
}

/** Some URLs of a host. */
const urls = (host: string, count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, n) => `https://${host}.example/${from + n}`);

describe.each(STORES)('sets with perHost, over HTTP, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  const create = (name: string, perHost: unknown, more: object = {}): Promise<Answer> =>
    call(app, 'POST', SETS, { name, capacity: 1_000, perHost, ...more });
  const made = async (perHost: unknown, more?: object): Promise<string> => {
    const name = freshName('h');
    expect(await create(name, perHost, more)).toMatchObject({ status: 201, body: { perHost } });
    return name;
  };
  const send = async <T>(name: string, route: string, body: object): Promise<T> => {
    const answer = await call(app, 'POST', `${SETS}/${name}/${route}`, body);
    expect(answer).toMatchObject({ status: 200 });
    return answer.body as T;
  };
  const discover = async (name: string, ...sent: string[]): Promise<string[]> =>
    (await send<{ results: string[] }>(name, 'urls/discover', { urls: sent })).results;
  const lease = async (name: string, more: object = {}): Promise<Leased[]> =>
    (await send<{ urls: Leased[] }>(name, 'queue/lease', { max: 100, leaseSeconds: 3_600, ...more })).urls;
  const leased = async (name: string, more?: object): Promise<string[]> =>
    (await lease(name, more)).map(({ url }) => url);
  const settle = async (name: string, verb: string, entries: readonly Leased[], more: object = {}) =>
    (
      await send<{ results: string[] }>(name, `queue/${verb}`, {
        ids: entries.map(({ id }) => id),
        ...more,
      })
    ).results;

  describe('discover', () => {
    it('gives the result limited beyond maxUrls, and neither visits nor queues the URL', async () => {
      const name = await made({ maxUrls: 2 });
      const batch = [...urls('a', 4), 'mailto:a@b.example', ...urls('b', 1), ...urls('a', 4)];
      const body = await send(name, 'urls/discover', { urls: batch });
      expect(body).toEqual({
        results: [
          ...['new', 'new', 'limited', 'limited', 'invalid', 'new'],
          // A copy in the batch gets the same answer as its first occurrence.
          ...['seen', 'seen', 'limited', 'limited'],
        ],
        counts: { new: 3, seen: 2, limited: 4, invalid: 1 },
        invalid: [{ index: 4, reason: 'scheme not http or https' }],
      });
      expect(await send(name, 'urls/check', { urls: urls('a', 4) })).toMatchObject({
        results: ['seen', 'seen', 'unseen', 'unseen'],
      });
      expect((await leased(name)).sort()).toEqual([...urls('a', 2), ...urls('b', 1)]);
    });

    it('counts a host’s URLs without scheme, user and port, and leaves out forgotten ones', async () => {
      const name = await made({ maxUrls: 2 });
      const same = ['http://a.example/', 'https://u:p@A.example:8443/', 'https://a.example./x'];
      expect(await discover(name, ...same)).toEqual(['new', 'new', 'limited']);
      await send(name, 'urls/forget', { urls: same.slice(0, 1) });
      expect(await discover(name, ...same)).toEqual(['new', 'seen', 'limited']);
    });

    it('gives the result limited in a stream, and counts it', async () => {
      const name = await made({ maxUrls: 1 });
      const response = await fetch(`${app.url}${SETS}/${name}/urls/discover`, {
        method: 'POST',
        headers: { 'content-type': 'text/plain' },
        body: [...urls('a', 3), ...urls('b', 1)].join('\n'),
      });
      const lines = (await response.text()).trim().split('\n');
      expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
        { from: 1, results: ['new', 'limited', 'limited', 'new'], invalid: [] },
        { done: true, counts: { new: 2, seen: 0, limited: 2, invalid: 0 } },
      ]);
      const metrics = await (await fetch(`${app.url}/metrics`)).text();
      expect(metrics).toMatch(/^unseen_items_total\{verb="discover",verdict="limited"\} \d+$/m);
    });

    it('answers a repeat as before', async () => {
      const name = await made({ maxUrls: 2 });
      const key = { 'idempotency-key': freshName('key') };
      const once = () =>
        call(
          app,
          'POST',
          `${SETS}/${name}/urls/discover`,
          { urls: [...urls('a', 3), ...urls('a', 1, 2)] },
          key,
        );
      const { body } = await once();
      expect(body).toMatchObject({ results: ['new', 'new', 'limited', 'limited'] });
      await send(name, 'urls/forget', { urls: urls('a', 2) });
      expect((await once()).body).toEqual(body);
    });

    it('starts over in each period of the set’s age', async () => {
      const name = await made({ maxUrls: 1 }, { maxAgeSeconds: 3_600 });
      expect(await discover(name, ...urls('a', 2))).toEqual(['new', 'limited']);
      app.advance(3_600_000);
      expect(await discover(name, ...urls('a', 1, 1))).toEqual(['new']);
    });

    it('doesn’t limit visit, which queues nothing', async () => {
      const name = await made({ maxUrls: 1 });
      expect(await send(name, 'urls/visit', { urls: urls('a', 3) })).toMatchObject({
        results: ['new', 'new', 'new'],
        counts: { new: 3, seen: 0, invalid: 0 },
      });
      expect(await discover(name, ...urls('a', 2, 2))).toEqual(['seen', 'new']);
    });
  });

  describe('lease', () => {
    it('takes hosts in turn, at most maxPerHost URLs from each', async () => {
      const name = await made({});
      await discover(name, ...urls('a', 4), ...urls('b', 1));
      expect(await leased(name, { maxPerHost: 1 })).toEqual([...urls('a', 1), ...urls('b', 1)]);
      expect(await leased(name, { maxPerHost: 2 })).toEqual(urls('a', 2, 1));
      expect(await leased(name)).toEqual(urls('a', 1, 3));
    });

    it('leaves the delay between a host’s URLs', async () => {
      const name = await made({ delaySeconds: 600 });
      await discover(name, ...urls('a', 3), ...urls('b', 1));
      expect(await leased(name)).toEqual([...urls('a', 1), ...urls('b', 1)]);
      expect(await leased(name)).toEqual([]);
      app.advance(600_000);
      expect(await leased(name)).toEqual(urls('a', 1, 1));
    });

    it('leases at most maxLeased of a host’s URLs at a time', async () => {
      const name = await made({ maxLeased: 2 });
      await discover(name, ...urls('a', 4));
      const entries = await lease(name);
      expect(entries.map(({ url }) => url)).toEqual(urls('a', 2));
      expect(await leased(name)).toEqual([]);
      await settle(name, 'ack', entries.slice(0, 1));
      expect(await leased(name)).toEqual(urls('a', 1, 2));
    });

    it('that waits returns when the first host comes due', async () => {
      const name = await made({ delaySeconds: 20 });
      await discover(name, ...urls('a', 2));
      await lease(name);
      app.advance(10_000);
      await discover(name, ...urls('b', 2));
      await lease(name);
      const waiting = [0, 1].map(() => leased(name, { max: 1, waitSeconds: 30 }));
      await leasesWaiting(app, 2);
      app.advance(10_000);
      expect(await waiting[0]).toEqual(urls('a', 1, 1));
      app.advance(10_000);
      expect(await waiting[1]).toEqual(urls('b', 1, 1));
    });

    it('that waits doesn’t ask the store while all hosts have to wait', async () => {
      const name = await made({ delaySeconds: 25 });
      await discover(name, ...urls('a', 2), ...urls('b', 2));
      await lease(name);
      const leases = jest.spyOn(app.app.get<Store>(Store).queue, 'lease');
      const waiting = leased(name, { waitSeconds: 30 });
      await leasesWaiting(app, 1);
      app.advance(25_000);
      expect(await waiting).toEqual([...urls('a', 1, 1), ...urls('b', 1, 1)]);
      // The service leases when the request arrives, when the wait begins, when hosts come due, and at most once every
      // 5 s.
      expect(leases.mock.calls.length).toBeLessThanOrEqual(3 + 25 / 5);
      leases.mockRestore();
    });

    it('that waits returns when a host has a free place', async () => {
      const name = await made({ maxLeased: 1 });
      await discover(name, ...urls('a', 2));
      const entries = await lease(name);
      const waiting = leased(name, { waitSeconds: 30 });
      await leasesWaiting(app, 1);
      await settle(name, 'ack', entries);
      expect(await waiting).toEqual(urls('a', 1, 1));
    });
  });

  describe('release', () => {
    it('makes the whole host wait', async () => {
      const name = await made({});
      await discover(name, ...urls('a', 2), ...urls('b', 1));
      const entries = await lease(name, { max: 1 });
      expect(await settle(name, 'release', entries, { hostDelaySeconds: 60, countAttempt: false })).toEqual([
        'released',
      ]);
      expect(await leased(name)).toEqual(urls('b', 1));
      const waiting = lease(name, { waitSeconds: 30 });
      await leasesWaiting(app, 1);
      app.advance(30_000);
      expect(await waiting).toEqual([]);
      app.advance(30_000);
      expect(await lease(name)).toMatchObject([
        { url: urls('a', 1, 1)[0], attempt: 1 },
        { url: urls('a', 1)[0], attempt: 1 },
      ]);
    });
  });

  describe('a plan', () => {
    const sizing = { capacity: 1_000_000, errorRate: 1e-4, growth: 'auto' };
    const plan = (more: object): Promise<Answer> =>
      call(app, 'POST', '/v1/plan', { type: 'counting', ...sizing, ...more });

    it('has the geometry and layers of a set with perHost', async () => {
      const name = freshName('h');
      const perHost = { delaySeconds: 2, maxUrls: 5 };
      const { body: created } = await call(app, 'POST', SETS, { name, ...sizing, perHost });
      const { geometry, memoryBytes } = created as { geometry: object; memoryBytes: number };
      expect(geometry).toMatchObject({ hashScheme: 3 });
      expect(await plan({ perHost })).toMatchObject({
        status: 200,
        body: { geometry, memoryBytes, perHost, growth: 'auto' },
      });
      expect(await plan({})).toMatchObject({ body: { geometry: { hashScheme: 2 } } });
    });

    it.each([
      [
        { perHost: { maxLeased: 0 } },
        '#/perHost/maxLeased',
        'perHost.maxLeased must be a whole number from 1',
      ],
      [{ perHost: 1 }, '#/perHost', 'perHost must be an object, not 1'],
      [
        { perHost: {}, growth: 'none' },
        '#/growth',
        'growth must be "auto" for a set with perHost, not "none"',
      ],
      [
        { perHost: {}, growth: undefined },
        '#/growth',
        'growth is missing; it must be "auto" for a set with perHost',
      ],
      [
        { perHost: {}, type: 'standard' },
        '#/perHost',
        'perHost is not allowed (got an object): only visited sets have it',
      ],
    ])('refuses %j', async (more, pointer, detail) => {
      expect(await plan(more)).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining(detail), errors: [expect.objectContaining({ pointer })] },
      });
    });
  });

  describe('a set without perHost', () => {
    it.each([
      ['lease', { max: 1, leaseSeconds: 1, maxPerHost: 1 }, 'maxPerHost', 1],
      ['lease', { max: 1, leaseSeconds: 1, waitSeconds: 1, maxPerHost: 1 }, 'maxPerHost', 1],
      ['release', { ids: [], hostDelaySeconds: 0 }, 'hostDelaySeconds', 0],
    ])('refuses %s with %j', async (verb, body, member, value) => {
      const name = freshName('h');
      await create(name, undefined);
      const detail = `${member} is not allowed (got ${value}): visited set "${name}" was created without perHost`;
      expect(await call(app, 'POST', `${SETS}/${name}/queue/${verb}`, body)).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_FAILED', detail, errors: [{ pointer: `#/${member}`, detail }] },
      });
    });
  });

  it.each([
    ['lease', { max: 1, leaseSeconds: 1, maxPerHost: 0 }, 'maxPerHost must be a whole number from 1 to 1000'],
    [
      'release',
      { ids: [], hostDelaySeconds: 86_401 },
      'hostDelaySeconds must be a whole number from 0 to 86400',
    ],
  ])('%s refuses %j', async (verb, body, why) => {
    const name = await made({});
    const answer = await call(app, 'POST', `${SETS}/${name}/queue/${verb}`, body);
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(why) } });
  });

  it('a sync keeps perHost and the waiting URLs', async () => {
    const name = await made({ delaySeconds: 600, maxUrls: 2 });
    await discover(name, ...urls('a', 2));
    const sync = await call(app, 'POST', `${SETS}/${name}/syncs`, { capacity: 5_000 });
    expect(sync).toMatchObject({ status: 201 });
    const { id } = sync.body as { id: string };
    await send(name, `syncs/${id}/urls`, { urls: urls('a', 2) });
    await send(name, `syncs/${id}/commit`, {});
    expect((await call(app, 'GET', `${SETS}/${name}`)).body).toMatchObject({
      perHost: { delaySeconds: 600, maxUrls: 2 },
      queue: { waiting: 2 },
    });
    expect(await leased(name)).toEqual(urls('a', 1));
    expect(await leased(name)).toEqual([]);
  });

  it('an export carries the hosts and the waiting URLs', async () => {
    const name = await made({ delaySeconds: 600, maxUrls: 3 });
    await discover(name, ...urls('a', 2), ...urls('b', 2));
    const copy = freshName('copy');
    const imported = await importedAs(app, copy, await exported(app, name));
    expect(imported.status).toBe(201);
    expect(await imported.json()).toMatchObject({
      perHost: { delaySeconds: 600, maxUrls: 3 },
      queue: { waiting: 4 },
    });
    expect(await leased(copy)).toEqual([...urls('a', 1), ...urls('b', 1)]);
    expect(await leased(copy)).toEqual([]);
    expect(await discover(copy, ...urls('a', 4))).toEqual(['seen', 'seen', 'new', 'limited']);
  });
});
