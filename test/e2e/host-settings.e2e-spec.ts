import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, type Answer, type TestApp } from '../support/app.js';
import { exported, importedAs } from './exports.js';
import { STORES } from './stores.js';

const SETS = '/v1/visited-sets';
const DAY_MS = 86_400_000;

interface Page {
  readonly hosts: { readonly host: string }[];
  readonly next?: string;
}

/** Some URLs of a host. */
const urls = (host: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `https://${host}/${n}`);

describe.each(STORES)('a set’s hosts, over HTTP, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  const made = async (more: object = { perHost: {} }): Promise<string> => {
    const name = freshName('h');
    expect(await call(app, 'POST', SETS, { name, capacity: 1_000, ...more })).toMatchObject({ status: 201 });
    return name;
  };
  const discover = (name: string, list: readonly string[]): Promise<Answer> =>
    call(app, 'POST', `${SETS}/${name}/urls/discover`, { urls: list });
  /** Leases for a day. */
  const leased = async (name: string, max = 100): Promise<string[]> => {
    const { body } = await call(app, 'POST', `${SETS}/${name}/queue/lease`, { max, leaseSeconds: 86_400 });
    return (body as { urls: { url: string }[] }).urls.map(({ url }) => url);
  };
  const on = (method: string, name: string, host: string, body?: object, headers = {}): Promise<Answer> =>
    call(app, method, `${SETS}/${name}/hosts/${encodeURIComponent(host)}`, body, headers);
  const inDays = (days: number): string => new Date(app.now() + days * DAY_MS).toISOString();

  it('are listed page by page, with their numbers', async () => {
    const name = await made({ perHost: { maxUrls: 5 } });
    const hosts = ['a.example', 'b.example', '[2001:db8::1]', 'xn--bcher-kva.example', '192.0.2.1'];
    for (const host of hosts) await discover(name, urls(host, 2));
    await leased(name, 1);
    const found: object[] = [];
    let next: string | undefined;
    do {
      const query = next === undefined ? '' : `&cursor=${next}`;
      const { status, body } = await call(app, 'GET', `${SETS}/${name}/hosts?limit=2${query}`);
      expect(status).toBe(200);
      const page = body as Page;
      expect(page.hosts.length).toBeLessThanOrEqual(2);
      found.push(...page.hosts);
      next = page.next;
    } while (next !== undefined);
    expect(found).toHaveLength(hosts.length);
    for (const host of hosts) {
      const leasedNow = host === 'a.example' ? 1 : 0;
      const view = {
        ...{ host, waiting: 2 - leasedNow, leased: leasedNow, delayed: 0, scheduled: 0, dead: 0, found: 2 },
        nextAt: expect.stringMatching(/Z$/),
      };
      expect(found).toContainEqual(view);
      expect(await on('GET', name, host)).toMatchObject({ status: 200, body: view });
    }
  });

  it('show scheduled URLs, which are dropped with all others', async () => {
    const name = await made();
    const host = 'a.example';
    const late = { urls: urls(host, 2), delaySeconds: 60 };
    expect(await call(app, 'POST', `${SETS}/${name}/urls/discover`, late)).toMatchObject({ status: 200 });
    expect(await on('GET', name, host)).toMatchObject({ body: { waiting: 0, scheduled: 2, dead: 0 } });
    expect(await on('DELETE', name, host)).toMatchObject({ body: { dropped: 2 } });
    app.advance(60_000);
    expect(await leased(name)).toEqual([]);
  });

  it.each([
    ['Example.ORG.', 'example.org'],
    ['%45xample.org', 'example.org'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['[2001:DB8:0::1]', '[2001:db8::1]'],
    ['0x7f.1', '127.0.0.1'],
    ['www.example.org', 'example.org'],
  ])('are found in the spelling of users: %s', async (written, host) => {
    const name = await made({ perHost: {}, urlProfile: { stripWww: true } });
    await discover(name, [`https://user@${written}:8443/`]);
    for (const [method, body] of [['GET'], ['PUT', {}]] as const)
      expect(await on(method, name, written, body)).toMatchObject({
        status: 200,
        body: { host, waiting: 1 },
      });
    expect(await on('DELETE', name, written)).toMatchObject({ status: 200, body: { dropped: 1 } });
  });

  it.each([
    ['https://example.org/', 'invalid host'],
    ['example.org:80', 'invalid host'],
    ['u@example.org', 'invalid host'],
    ['example.org/a', 'invalid host'],
    ['a b', 'invalid host'],
    ['[::1', 'invalid host'],
    ['...', 'no host'],
    ['1.2.3.4.5', 'invalid host'],
    [`${'a'.repeat(64)}.example`, 'host too long'],
  ])('refuses %s, which isn’t a host', async (text, reason) => {
    const name = await made();
    for (const [method, body] of [['GET'], ['PUT', {}], ['DELETE']] as const) {
      const answer = await on(method, name, text, body);
      expect(answer).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_FAILED', errors: [{ pointer: '#/host' }] },
      });
      expect((answer.body as { detail: string }).detail).toContain(`(${reason})`);
    }
  });

  it('answers HOST_NOT_FOUND for a host that isn’t listed, and drops no URLs', async () => {
    const name = await made();
    expect(await on('GET', name, 'Nobody.example')).toMatchObject({
      status: 404,
      body: {
        code: 'HOST_NOT_FOUND',
        detail: `host "nobody.example" is unknown to visited set "${name}": it has no queued URLs, no count and no settings`,
      },
    });
    expect(await on('DELETE', name, 'nobody.example')).toMatchObject({ status: 200, body: { dropped: 0 } });
  });

  it('can be blocked until a time, even before they have URLs', async () => {
    const name = await made();
    await discover(name, [...urls('a.example', 1), ...urls('b.example', 1)]);
    const [soon, year] = [inDays(0.5), inDays(365)];
    expect(await on('PUT', name, 'a.example', { blockedUntil: soon })).toMatchObject({
      status: 200,
      body: { host: 'a.example', waiting: 1, blockedUntil: soon, nextAt: soon },
    });
    expect(await on('PUT', name, 'new.example', { blockedUntil: year })).toMatchObject({
      body: { host: 'new.example', waiting: 0, blockedUntil: year },
    });
    await discover(name, urls('new.example', 1));
    expect(await leased(name)).toEqual(urls('b.example', 1));
    app.advance(DAY_MS / 2);
    expect(await leased(name)).toEqual(urls('a.example', 1));
    expect(await on('GET', name, 'new.example')).toMatchObject({ body: { blockedUntil: year } });
    expect((await on('PUT', name, 'new.example', {})).body).not.toHaveProperty('blockedUntil');
    expect(await leased(name)).toEqual(urls('new.example', 1));
  });

  it('can get limits of their own, and lose them again', async () => {
    const name = await made({ perHost: { delaySeconds: 60, maxLeased: 1, maxUrls: 3 } });
    await discover(name, urls('a.example', 3));
    const own = { delaySeconds: 0, maxLeased: 2, maxUrls: 4 };
    expect(await on('PUT', name, 'a.example', own)).toMatchObject({ status: 200, body: own });
    expect(await on('GET', name, 'a.example')).toMatchObject({ body: own });
    expect(await leased(name)).toEqual(urls('a.example', 2));
    expect((await discover(name, urls('a.example', 5))).body).toMatchObject({
      results: ['seen', 'seen', 'seen', 'new', 'limited'],
    });
    const { body } = await on('PUT', name, 'a.example', {});
    for (const limit of Object.keys(own)) expect(body).not.toHaveProperty(limit);
  });

  it('are dropped with all their URLs, which stay visited', async () => {
    const name = await made();
    await discover(name, [...urls('a.example', 3), ...urls('b.example', 1)]);
    await leased(name, 1);
    expect(await on('DELETE', name, 'a.example')).toMatchObject({ status: 200, body: { dropped: 3 } });
    expect(await on('GET', name, 'a.example')).toMatchObject({ status: 404 });
    expect(await leased(name)).toEqual(urls('b.example', 1));
    expect((await discover(name, urls('a.example', 1))).body).toMatchObject({ results: ['seen'] });
  });

  it('answers a repeat as before, and refuses its key for a different host', async () => {
    const name = await made();
    await discover(name, [...urls('a.example', 2), ...urls('b.example', 2)]);
    const key = { 'idempotency-key': freshName('key') };
    const once = () => on('DELETE', name, 'a.example', undefined, key);
    expect(await once()).toMatchObject({ status: 200, body: { dropped: 2 } });
    await discover(name, ['https://a.example/more']);
    expect(await once()).toMatchObject({ status: 200, body: { dropped: 2 } });
    expect(await on('GET', name, 'a.example')).toMatchObject({ body: { waiting: 1 } });
    expect(await on('DELETE', name, 'b.example', undefined, key)).toMatchObject({
      status: 422,
      body: { code: 'IDEMPOTENCY_KEY_REUSED' },
    });
  });

  it.each([
    [{ delaySeconds: -1 }, '#/delaySeconds', 'delaySeconds must be a whole number from 0 to 86400, not -1'],
    [{ maxLeased: 0 }, '#/maxLeased', 'maxLeased must be a whole number from 1 to 2147483648, not 0'],
    [{ maxUrls: '5' }, '#/maxUrls', 'maxUrls must be a whole number from 1 to 2147483648, not "5"'],
    [
      { blockedUntil: '2030-01-31' },
      '#/blockedUntil',
      'blockedUntil must be a time such as 2030-01-31T12:00:00Z, not "2030-01-31"',
    ],
    [
      { blockedUntil: '2030-02-31T12:00:00Z' },
      '#/blockedUntil',
      'blockedUntil must be a time such as 2030-01-31T12:00:00Z; "2030-02-31T12:00:00Z" is not a real date',
    ],
    [
      { blockedUntil: '9999-12-31T23:59:59-01:00' },
      '#/blockedUntil',
      'blockedUntil must be at most 9999-12-31T23:59:59.999Z, not "9999-12-31T23:59:59-01:00"',
    ],
  ])('refuses the settings %j', async (settings, pointer, detail) => {
    const name = await made({ perHost: { maxUrls: 5 } });
    expect(await on('PUT', name, 'a.example', settings)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED', detail, errors: [{ pointer, detail }] },
    });
  });

  it('refuses a host maxUrls in a set without perHost', async () => {
    const name = await made();
    expect(await on('PUT', name, 'a.example', { maxUrls: 5 })).toMatchObject({
      status: 400,
      body: {
        detail: `maxUrls is not allowed (got 5): visited set "${name}" was created without perHost.maxUrls`,
      },
    });
  });

  it('are exported and imported with their settings', async () => {
    const name = await made({ perHost: { delaySeconds: 10, maxUrls: 3 } });
    await discover(name, [...urls('a.example', 2), ...urls('b.example', 2)]);
    const settings = { maxUrls: 2, blockedUntil: inDays(1) };
    expect(await on('PUT', name, 'b.example', settings)).toMatchObject({ status: 200 });
    const copy = freshName('copy');
    expect((await importedAs(app, copy, await exported(app, name))).status).toBe(201);
    expect(await on('GET', copy, 'b.example')).toMatchObject({ body: { waiting: 2, found: 2, ...settings } });
    expect(await leased(copy)).toEqual(urls('a.example', 1));
    expect(await discover(copy, urls('b.example', 3))).toMatchObject({
      body: { results: ['seen', 'seen', 'limited'] },
    });
  });

  it('refuses an unknown set, and a set without perHost', async () => {
    const name = await made({});
    const detail = `visited set "${name}" was created without perHost; create one with perHost to manage hosts`;
    for (const [method, path] of [
      ['GET', ''],
      ...['GET', 'PUT', 'DELETE'].map((one) => [one, '/a.example']),
    ]) {
      const body = method === 'PUT' ? {} : undefined;
      expect(await call(app, method!, `${SETS}/${name}/hosts${path}`, body)).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_FAILED', detail },
      });
      expect(await call(app, method!, `${SETS}/no-such-set/hosts${path}`, body)).toMatchObject({
        status: 404,
        body: { code: 'VISITED_SET_NOT_FOUND' },
      });
    }
  });
});
