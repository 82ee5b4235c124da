import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readMadeId } from '../../src/idempotency/made-id.js';
import { call, freshName, type Answer, type TestApp } from '../support/app.js';
import { STORES } from './stores.js';

describe.each(STORES)('idempotency over HTTP, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  const create = async (): Promise<string> => {
    const name = freshName();
    await call(app, 'POST', '/v1/filters', {
      name,
      type: 'counting',
      capacity: 1_000,
      errorRate: 0.001,
      semantics: 'multiset',
    });
    return name;
  };
  const send = (path: string, body: unknown, key?: string): Promise<Answer> =>
    call(app, 'POST', path, body, key === undefined ? {} : { 'idempotency-key': key });
  const keyOf = ({ headers }: Answer): string => headers.get('idempotency-key') as string;

  it("gives a repeat under the caller's key the same answer and changes nothing", async () => {
    const name = await create();
    const path = `/v1/filters/${name}/items/add`;
    const key = 'any visible-ASCII key?'.replaceAll(' ', '_');
    const first = await send(path, { items: ['a', 'b'] }, key);
    expect(first).toMatchObject({ status: 200, body: { results: [true, true] } });
    expect(keyOf(first)).toBe(key);
    expect(await send(path, { items: ['a', 'b'] }, key)).toMatchObject({
      status: 200,
      body: { results: [true, true] },
    });
    expect((await send(`/v1/filters/${name}/items/count`, { items: ['a'] })).body).toEqual({ results: [1] });
  });

  it('scopes operation keys to a filter and route', async () => {
    const [one, two] = [await create(), await create()];
    const key = freshName('key');
    for (const name of [one, two]) {
      expect((await send(`/v1/filters/${name}/items/add`, { items: ['a'] }, key)).body).toEqual({
        results: [true],
      });
    }
    expect((await send(`/v1/filters/${one}/items/remove`, { items: ['a'] }, key)).body).toEqual({
      results: ['removed'],
    });
  });

  it('refuses an operation key with a different body, and returns it', async () => {
    const name = await create();
    const key = freshName('key');
    await send(`/v1/filters/${name}/items/add`, { items: ['a'] }, key);
    const reused = await send(`/v1/filters/${name}/items/add`, { items: ['b'] }, key);
    expect(reused).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    expect(keyOf(reused)).toBe(key);
    expect((await send(`/v1/filters/${name}/items/check`, { items: ['b'] })).body).toEqual({
      results: [false],
    });
  });

  it.each([
    ['a JSON body', 'a stream', ['application/json', '{"items":["a"]}'], ['text/plain', 'a']],
    ['a stream', 'a JSON body', ['text/plain', 'a'], ['application/json', '{"items":["a"]}']],
  ])('refuses the operation key of %s with %s', async (_, __, ...bodies) => {
    const name = await create();
    const statuses: number[] = [];
    for (const [type = '', body] of bodies) {
      const headers = { 'idempotency-key': 'one-key', 'content-type': type };
      const init = { method: 'POST', headers, ...(body !== undefined && { body }) };
      statuses.push((await fetch(`${app.url}/v1/filters/${name}/items/add`, init)).status);
    }
    expect(statuses).toEqual([200, 422]);
    expect((await send(`/v1/filters/${name}/items/count`, { items: ['a'] })).body).toEqual({ results: [1] });
  });

  it('refuses a repeated creation if the filter is gone, and doesn’t create it', async () => {
    const filter = { name: freshName(), type: 'counting', capacity: 100, errorRate: 0.01 };
    expect(await send('/v1/filters', filter, 'make')).toMatchObject({ status: 201 });
    await call(app, 'DELETE', `/v1/filters/${filter.name}`);
    const repeat = await send('/v1/filters', filter, 'make');
    expect(repeat).toMatchObject({ status: 404, body: { code: 'FILTER_NOT_FOUND' } });
    expect(repeat.body).toMatchObject({ detail: expect.stringContaining('another Idempotency-Key') });
    expect(await call(app, 'GET', `/v1/filters/${filter.name}`)).toMatchObject({ status: 404 });
    expect(await send('/v1/filters', filter, 'make-again')).toMatchObject({ status: 201 });
  });

  it('generates an operation id that only a retry of the request can use', async () => {
    const name = await create();
    const path = `/v1/filters/${name}/items/add`;
    const first = await send(path, { items: ['a'] });
    const id = keyOf(first);
    const now = Date.now();
    expect(readMadeId(id)?.madeAt).toBeLessThanOrEqual(now);
    const repeat = await send(path, { items: ['a'] }, id);
    expect(repeat).toMatchObject({ status: 200, body: { results: [true] } });
    expect(keyOf(repeat)).toBe(id);
    expect((await send(`/v1/filters/${name}/items/count`, { items: ['a'] })).body).toEqual({ results: [1] });
    const other = await send(path, { items: ['other'] }, id);
    expect(other).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    expect((await send(path, { items: ['a'] })).body).toEqual({ results: [false] });
  });

  it('covers the life cycle and the queue', async () => {
    const name = freshName('v');
    const key = freshName('key');
    const set = { name, capacity: 1_000 };
    expect(await send('/v1/visited-sets', set, key)).toMatchObject({ status: 201 });
    expect([200, 201]).toContain((await send('/v1/visited-sets', set, key)).status);
    const path = `/v1/visited-sets/${name}`;
    const discovered = await send(`${path}/urls/discover`, { urls: ['http://a.org/'] }, key);
    expect((await send(`${path}/urls/discover`, { urls: ['http://a.org/'] }, key)).body).toEqual(
      discovered.body,
    );
    const leased = await send(`${path}/queue/lease`, { max: 5, leaseSeconds: 60 }, key);
    expect((leased.body as { urls: unknown[] }).urls).toHaveLength(1);
    expect((await send(`${path}/queue/lease`, { max: 5, leaseSeconds: 60 }, key)).body).toEqual(leased.body);
    const ids = (leased.body as { urls: { id: string }[] }).urls.map(({ id }) => id);
    expect((await send(`${path}/queue/ack`, { ids }, key)).body).toEqual({ results: ['acked'] });
    expect((await send(`${path}/queue/ack`, { ids }, key)).body).toEqual({ results: ['acked'] });
    expect(await send(`${path}/clear`, undefined, key)).toMatchObject({ status: 200 });
  });

  it('returns the operation id on errors of mutating routes, and none on reads', async () => {
    const name = await create();
    const missing = await send(`/v1/filters/${freshName()}/items/add`, { items: ['a'] }, 'k1');
    expect(missing).toMatchObject({ status: 404 });
    expect(keyOf(missing)).toBe('k1');
    const broken = await send(`/v1/filters/${name}/items/add`, '{"items": [', 'k2');
    expect(broken).toMatchObject({ status: 400 });
    expect(keyOf(broken)).toBe('k2');
    expect(readMadeId(keyOf(await send(`/v1/filters/${name}/items/add`, { items: [1] })))).toBeDefined();
    for (const verb of ['check', 'count']) {
      const read = await send(
        `/v1/filters/${name}/items/${verb}`,
        { items: ['a'] },
        'not a key: é'.replace('é', 'e'),
      );
      expect(read.status).toBe(200);
      expect(read.headers.has('idempotency-key')).toBe(false);
    }
  });

  it.each([['with a space'], ['x'.repeat(256)], ['ümlaut']])('refuses the operation key %j', async (key) => {
    const answer = await send(`/v1/filters/${await create()}/items/add`, { items: ['a'] }, key);
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });

  it('accepts operation keys of 255 characters', async () => {
    for (const type of ['application/json', 'application/x-ndjson']) {
      const name = await create();
      const body = type === 'application/json' ? { items: ['a'] } : '"a"';
      const headers = { 'idempotency-key': '~'.repeat(255), 'content-type': type };
      const answer = await fetch(`${app.url}/v1/filters/${name}/items/add`, {
        method: 'POST',
        headers,
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
      expect(answer.status).toBe(200);
      expect(await answer.text()).toContain('"results":[');
    }
  });
});
