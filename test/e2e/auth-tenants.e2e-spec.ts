import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, type Answer, type TestApp } from '../support/app.js';
import { statusOf } from '../support/status-of.js';
import { makeKey, type TestKey } from '../support/credentials.js';
import { STORES } from './stores.js';

const FILTER = { type: 'counting', capacity: 1_000, errorRate: 0.01 };
const VISITED = { capacity: 1_000 };

/** Every route with a name in its path, with a body that is valid for it. */
const NAMED: readonly (readonly [
  kind: 'filters' | 'visited-sets',
  method: string,
  path: string,
  body: object | undefined,
])[] = [
  ['filters', 'GET', '', undefined],
  ['filters', 'DELETE', '', undefined],
  ['filters', 'POST', '/clear', undefined],
  ['filters', 'GET', '/export', undefined],
  ['filters', 'GET', '/history', undefined],
  ['filters', 'GET', '/counters', undefined],
  ...['add', 'check', 'remove', 'count', 'explain'].map(
    (verb) => ['filters', 'POST', `/items/${verb}`, { items: ['a'] }] as const,
  ),
  ['visited-sets', 'GET', '', undefined],
  ['visited-sets', 'DELETE', '', undefined],
  ['visited-sets', 'POST', '/clear', undefined],
  ['visited-sets', 'GET', '/export', undefined],
  ['visited-sets', 'GET', '/history', undefined],
  ['visited-sets', 'GET', '/counters', undefined],
  ...['discover', 'visit', 'check', 'forget', 'explain'].map(
    (verb) => ['visited-sets', 'POST', `/urls/${verb}`, { urls: ['http://a.example/'] }] as const,
  ),
  ['visited-sets', 'POST', '/queue/lease', { max: 1, leaseSeconds: 1 }],
  ['visited-sets', 'POST', '/queue/ack', { ids: ['x'] }],
  ['visited-sets', 'POST', '/queue/release', { ids: ['x'] }],
  ['visited-sets', 'POST', '/queue/extend', { ids: ['x'], leaseSeconds: 1 }],
  ['visited-sets', 'GET', '/queue/urls', undefined],
  ['visited-sets', 'POST', '/queue/drop', { all: true }],
  ['visited-sets', 'GET', '/queue/dead-letters', undefined],
  ['visited-sets', 'POST', '/queue/dead-letters/put-back', { ids: ['x'] }],
  ['visited-sets', 'POST', '/queue/dead-letters/purge', { ids: ['x'] }],
  ['visited-sets', 'GET', '/hosts', undefined],
  ['visited-sets', 'GET', '/hosts/a.example', undefined],
  ['visited-sets', 'PUT', '/hosts/a.example', {}],
  ['visited-sets', 'DELETE', '/hosts/a.example', undefined],
];

/** The answer without values that differ in every request, such as generated operation ids. */
function seen({ status, headers, body }: Answer, name: string): unknown {
  const rest = { ...(body as Record<string, unknown> | undefined) };
  delete rest.requestId;
  const kept = [...headers].filter(
    ([header]) => !['x-request-id', 'date', 'idempotency-key'].includes(header),
  );
  const shown = JSON.stringify({ status, rest, headers: Object.fromEntries(kept) });
  const length = / ?"content-length":"\d+",?/;
  return { shown: shown.replaceAll(name, '<name>').replace(length, ''), key: headers.has('idempotency-key') };
}

/** The prefixes of the two tenants differ only in case. */
describe.each(STORES)('tenants, $name store', ({ start }) => {
  let app: TestApp;
  let ops: TestKey;
  let acme: TestKey;
  let other: TestKey;
  const as = (key: TestKey, method: string, path: string, body?: unknown, headers = {}): Promise<Answer> =>
    call(app, method, path, body, { ...key.headers, ...headers });

  beforeAll(async () => {
    app = await start({ AUTH: 'keys' });
    ops = await makeKey(app, 'admin');
    acme = await makeKey(app, 'admin', { prefix: 'Acme:' });
    other = await makeKey(app, 'admin', { prefix: 'acme:' });
    for (const name of ['Acme:b', 'Acme:a', 'Acme:c', 'Acme.x', 'Acmf', 'acme:a', 'acme:b', 'zeta']) {
      await as(ops, 'POST', '/v1/filters', { name, ...FILTER });
      await as(ops, 'POST', '/v1/visited-sets', { name: `${name}-v`, ...VISITED });
    }
  });
  afterAll(() => app.close());

  it.each(NAMED)(
    'get the same answer for another tenant’s name as for an unknown one: %s %s …%s',
    async (kind, method, path, body) => {
      const suffix = kind === 'filters' ? '' : '-v';
      const absent = `acme:absent${suffix}`;
      const none = await as(other, method, `/v1/${kind}/${absent}${path}`, body);
      expect(none.status).toBe(404);
      for (const name of ['Acme:a', 'Acme:absent', 'zeta'].map((start) => start + suffix)) {
        const foreign = await as(other, method, `/v1/${kind}/${name}${path}`, body);
        expect(seen(foreign, name)).toEqual(seen(none, absent));
      }
    },
  );

  it('get the same answer with their own operation key, on streams, and on malformed names', async () => {
    const path = (name: string): string => `/v1/filters/${name}/items/add`;
    const both = async (body: unknown, headers: Record<string, string>): Promise<[unknown, unknown]> => [
      seen(await as(other, 'POST', path('Acme:a'), body, headers), 'Acme:a'),
      seen(await as(other, 'POST', path('acme:absent'), body, headers), 'acme:absent'),
    ];
    for (const headers of [{ 'idempotency-key': 'k1' }, { 'content-type': 'text/plain' }]) {
      const body = 'content-type' in headers ? 'a\nb\n' : { items: ['a'] };
      const [foreign, none] = await both(body, headers);
      expect(foreign).toEqual(none);
    }
    expect(await as(other, 'GET', '/v1/filters/ACME!')).toMatchObject({ status: 400 });
    for (const name of ['%41cme:a', 'Acme%3Aa', '%41%63%6d%65%3a%61'])
      expect(await as(other, 'GET', `/v1/filters/${name}`)).toMatchObject({ status: 404 });
    expect(await as(other, 'GET', '/v1/filters/acme:a%2f..%2fAcme:a')).toMatchObject({ status: 400 });
  });

  it('change nothing that belongs to other tenants', async () => {
    for (const method of ['DELETE', 'POST']) {
      await as(other, method, `/v1/filters/Acme:a${method === 'POST' ? '/clear' : ''}`);
    }
    await as(other, 'POST', '/v1/filters/Acme:a/items/add', { items: ['intruder'] });
    expect(await as(ops, 'GET', '/v1/filters/Acme:a')).toMatchObject({ status: 200, body: { added: 0 } });
  });

  it('list only their own names, on any page and with any cursor', async () => {
    const names = async (
      key: TestKey,
      query: string,
    ): Promise<{ names: string[]; next: string | undefined }> => {
      const { body } = await as(key, 'GET', `/v1/filters${query}`);
      const { filters, next } = body as { filters: { name: string }[]; next?: string };
      return { names: filters.map(({ name }) => name), next };
    };
    expect(await names(acme, '')).toEqual({ names: ['Acme:a', 'Acme:b', 'Acme:c'], next: undefined });
    expect(await names(acme, '?limit=2')).toEqual({ names: ['Acme:a', 'Acme:b'], next: 'Acme:b' });
    expect(await names(acme, '?limit=2&cursor=Acme:b')).toEqual({ names: ['Acme:c'], next: undefined });
    expect(await names(acme, '?limit=3')).toEqual({ names: ['Acme:a', 'Acme:b', 'Acme:c'], next: undefined });
    expect(await names(acme, '?cursor=A&limit=1')).toEqual({ names: ['Acme:a'], next: 'Acme:a' });
    expect(await names(acme, '?cursor=acme:a')).toEqual({ names: [], next: undefined });
    expect(await names(other, '')).toEqual({ names: ['acme:a', 'acme:b'], next: undefined });
    const sets = await as(other, 'GET', '/v1/visited-sets');
    expect(sets.body).toMatchObject({ visitedSets: [{ name: 'acme:a-v' }, { name: 'acme:b-v' }] });
    expect((await names(ops, '')).names).toContain('zeta');
  });

  it('create only their own names, and learn nothing of others', async () => {
    const answers = new Set<string>();
    for (const name of ['Acme:a', 'Acme:new', 'zeta', 'zeta-new', 'acme', 'Acme:a-v']) {
      for (const [path, body] of [
        ['/v1/filters', FILTER],
        ['/v1/filters', { ...FILTER, capacity: 5 }],
        ['/v1/visited-sets', VISITED],
      ] as const) {
        const answer = await as(other, 'POST', path, { name, ...body });
        expect(answer).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
        answers.add((answer.body as { detail: string }).detail);
      }
    }
    expect([...answers]).toEqual(['the credentials allow only names that begin with "acme:"']);
    expect(await as(other, 'POST', '/v1/filters', { name: 'acme:new', ...FILTER })).toMatchObject({
      status: 201,
    });
    expect(await as(ops, 'GET', '/v1/filters/Acme:new')).toMatchObject({ status: 404 });
  });

  it('don’t share operation records', async () => {
    const key = { 'idempotency-key': 'the-same' };
    const create = (who: TestKey, name: string): Promise<Answer> =>
      as(who, 'POST', '/v1/filters', { name, ...FILTER }, key);
    expect(await create(acme, 'Acme:k')).toMatchObject({ status: 201, body: { name: 'Acme:k' } });
    expect(await create(other, 'acme:k')).toMatchObject({ status: 201, body: { name: 'acme:k' } });
    expect(await create(other, 'Acme:k')).toMatchObject({ status: 403 });
    for (const verb of ['clear', 'drop']) {
      const [method, path] = verb === 'drop' ? ['DELETE', ''] : ['POST', '/clear'];
      const mine = await as(acme, method, `/v1/filters/Acme:k${path}`, undefined, key);
      expect(mine.status).toBe(verb === 'drop' ? 204 : 200);
      const theirs = await as(other, method, `/v1/filters/Acme:k${path}`, undefined, key);
      expect(theirs).toMatchObject({ status: 404, body: { code: 'FILTER_NOT_FOUND' } });
      const own = await as(other, method, `/v1/filters/acme:k${path}`, undefined, key);
      expect(own.status).toBe(mine.status);
    }
    // A tenant can't use an operation id that the service generated for another tenant's creation.
    const made = await as(acme, 'POST', '/v1/filters', { name: 'Acme:m', ...FILTER });
    const replay = { 'idempotency-key': made.headers.get('idempotency-key') ?? '' };
    expect(await as(other, 'POST', '/v1/filters', { name: 'Acme:m', ...FILTER }, replay)).toMatchObject({
      status: 403,
    });
    expect(await as(other, 'POST', '/v1/filters', { name: 'acme:m', ...FILTER }, replay)).toMatchObject({
      status: 422,
    });
  });

  it('can’t use routes without a name: metrics and keys', async () => {
    for (const [method, path] of [
      ['GET', '/metrics'],
      ['GET', '/v1/keys'],
      ['POST', '/v1/keys'],
      ['POST', `/v1/keys/${ops.id}/rotate`],
      ['DELETE', `/v1/keys/${ops.id}`],
    ] as const) {
      const answer = await as(other, method, path);
      expect(answer).toMatchObject({
        status: 403,
        body: { detail: 'this route needs credentials without a name prefix; these have "acme:"' },
      });
    }
    expect(await as(ops, 'GET', '/v1/keys')).toMatchObject({ status: 200 });
    expect(await statusOf(`${app.url}/metrics`, { headers: ops.headers })).toBe(200);
  });

  it('import only under their own names, with any name in the file', async () => {
    const exported = await fetch(`${app.url}/v1/filters/Acme:c/export`, { headers: acme.headers });
    const file = await exported.arrayBuffer();
    const importAs = (query: string): Promise<number> => {
      const headers = { ...other.headers, 'content-type': 'application/octet-stream' };
      return statusOf(`${app.url}/v1/filters/import${query}`, { method: 'POST', headers, body: file });
    };
    expect(await importAs('')).toBe(403);
    expect(await importAs('?name=Acme:import')).toBe(403);
    expect(await importAs('?name=acme:import')).toBe(201);
    expect(await as(ops, 'GET', '/v1/filters/Acme:import')).toMatchObject({ status: 404 });
  });
});
