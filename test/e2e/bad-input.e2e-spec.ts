import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, startApp, type TestApp } from '../support/app.js';

let app: TestApp;
let filter: string;
let set: string;

beforeAll(async () => {
  app = await startApp({ MAX_BODY_BYTES: String(1024 * 1024), REQUEST_TIMEOUT_MS: '600000' });
  filter = freshName();
  set = freshName('v');
  await call(app, 'POST', '/v1/filters', {
    name: filter,
    type: 'counting',
    capacity: 100_000,
    errorRate: 0.001,
  });
  await call(app, 'POST', '/v1/visited-sets', { name: set, capacity: 1_000 });
});
afterAll(() => app.close());

/** Expects a refusal to be a complete problem document. */
async function refused(
  method: string,
  path: string,
  body: unknown,
  code: string,
  status: number,
  headers: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const answer = await call(app, method, path, body, headers);
  expect(answer).toMatchObject({
    status,
    body: { type: 'about:blank', title: expect.any(String), status, code, detail: expect.any(String) },
  });
  const problem = answer.body as Record<string, unknown>;
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(answer.headers.get('x-request-id')).toBe(problem.requestId);
  return problem;
}

const invalid = (method: string, path: string, body: unknown): Promise<Record<string, unknown>> =>
  refused(method, path, body, 'VALIDATION_FAILED', 400);

const GOOD = { name: 'good', type: 'counting', capacity: 10, errorRate: 0.01 };

describe('creating filters', () => {
  it.each([
    ['name', undefined],
    ['name', 7],
    ['name', ''],
    ['name', 'a b'],
    ['name', ':colon'],
    ['name', 'unseen:{x}'],
    ['name', '-dash'],
    ['name', 'a/b'],
    ['name', 'x'.repeat(65)],
    ['name', 'naïve'],
    ['name', 'line\n'],
    ['type', 'cuckoo'],
    ['type', null],
    ['capacity', 0],
    ['capacity', -1],
    ['capacity', 1.5],
    ['capacity', '10'],
    ['capacity', 2 ** 51],
    ['capacity', 1e400],
    ['capacity', null],
    ['errorRate', 0],
    ['errorRate', 1],
    ['errorRate', -0.1],
    ['errorRate', 1e-10],
    ['errorRate', NaN],
    ['errorRate', '0.01'],
    ['errorRate', true],
    ['semantics', 'bag'],
    ['semantics', null],
    ['semantics', ['set']],
  ])('refuses %s %p', async (member, value) => {
    const problem = await invalid('POST', '/v1/filters', { ...GOOD, [member]: value });
    expect(problem.errors).toEqual([{ pointer: `#/${member}`, detail: expect.stringContaining(member) }]);
  });

  it('refuses NaN and infinities in any JSON form', async () => {
    for (const value of ['NaN', 'Infinity', '1e400', '-1e400']) {
      await invalid(
        'POST',
        '/v1/filters',
        `{"name":"n","type":"counting","capacity":10,"errorRate":${value}}`,
      );
    }
  });

  it('names every fault', async () => {
    const problem = await invalid('POST', '/v1/filters', { name: '-', type: 'x', capacity: 0, errorRate: 2 });
    expect(problem.errors).toHaveLength(4);
  });

  it('refuses multiset on a standard filter', async () => {
    await invalid('POST', '/v1/filters', { ...GOOD, type: 'standard', semantics: 'multiset' });
  });

  it.each(['__proto__', 'constructor', 'prototype', 'seed', 'toString', 'limits'])(
    'refuses the member %s',
    async (member) => {
      const body = JSON.stringify(GOOD).replace('}', `,"${member}":{"polluted":true}}`);
      expect(await invalid('POST', '/v1/filters', body)).toMatchObject({
        detail: expect.stringContaining(member),
      });
      await invalid(
        'POST',
        `/v1/filters/${filter}/items/add`,
        `{"items":["a"],"${member}":{"polluted":true}}`,
      );
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    },
  );

  it.each(['null', '[]', '"text"', '7', 'true', ''])('refuses the body %p', async (body) => {
    await invalid('POST', '/v1/filters', body);
    await invalid('POST', '/v1/plan', body);
    await invalid('POST', `/v1/filters/${filter}/items/add`, body);
  });

  it.each(['loose', 7, null, [], { base: 'none' }, { unknown: true }, { base: 'strict', sortValues: true }])(
    'refuses the URL profile %j',
    async (urlProfile) => {
      const problem = await invalid('POST', '/v1/visited-sets', { name: 'p', capacity: 10, urlProfile });
      expect(problem.errors).toMatchObject([{ pointer: '#/urlProfile' }]);
    },
  );

  it('refuses bad pages', async () => {
    for (const query of ['limit=0', 'limit=1001', 'limit=x', 'limit=1&limit=2', 'cursor=-', 'unknown=1']) {
      await invalid('GET', `/v1/filters?${query}`, undefined);
    }
  });
});

describe('members that aren’t allowed', () => {
  const ageing = { type: 'standard', capacity: 10, errorRate: 0.01, maxAgeSeconds: 60 };
  it.each([
    [
      'filters',
      { ...GOOD, type: 'standard', semantics: 'multiset' },
      'semantics must be "set", not "multiset", because',
    ],
    ['plan', ageing, 'maxAgeSeconds is not allowed (got 60): a standard filter does not age'],
    ['set/urls/visit', { urls: [], ttlSeconds: 5 }, 'ttlSeconds is not allowed (got 5): visited set'],
    ['set/queue/lease', { max: 1, leaseSeconds: 1, maxPerHost: 2 }, 'maxPerHost is not allowed (got 2):'],
    ['set/queue/drop', { host: 'x@y' }, 'host is not allowed (got "x@y"): visited set'],
    [
      'set/syncs/0000000000000000/commit',
      { force: true, maxForgetShare: 0.5 },
      'maxForgetShare is not allowed (got 0.5): force',
    ],
  ])('are refused with their value by %s', async (path, body, detail) => {
    const problem = await invalid('POST', `/v1/${path.replace('set', `visited-sets/${set}`)}`, body);
    expect(problem.detail).toContain(detail);
  });
});

describe('batches', () => {
  const add = (body: unknown): Promise<Record<string, unknown>> =>
    invalid('POST', `/v1/filters/${filter}/items/add`, body);

  it.each([
    ['no array', { items: 'a' }, '#/items', 'items must be an array'],
    ['absent', {}, '#/items', 'items is missing; it must be an array'],
    ['a number', { items: ['a', 7] }, '#/items/1', '[1] must be a string'],
    ['null', { items: [null] }, '#/items/0', '[0] must be a string'],
    ['an array', { items: [['a']] }, '#/items/0', '[0] must be a string'],
    ['an empty string', { items: ['a', 'b', ''] }, '#/items/2', '[2] must not be empty'],
    ['9 KB', { items: ['a', 'x'.repeat(9 * 1024)] }, '#/items/1', '[1] must have at most 8192 bytes'],
    [
      '9 KB of three-byte characters',
      { items: ['€'.repeat(3 * 1024)] },
      '#/items/0',
      'at most 8192 bytes in UTF-8, not 9216',
    ],
    ['too many', { items: Array<string>(10_001).fill('a') }, '#/items', 'at most 10000 entries, not 10001'],
    ['an unknown member', { items: ['a'], urls: [] }, '#', '"urls" is not a member'],
  ])('refuses %s', async (_, body, pointer, detail) => {
    const problem = await add(body);
    expect(problem.detail).toContain(detail);
    expect(problem.errors).toMatchObject([{ pointer, detail: problem.detail }]);
  });

  it('names up to a hundred invalid items, and explains the first ten', async () => {
    const items = Array.from({ length: 500 }, (_, i) => (i % 3 === 1 ? '' : `item ${i}`));
    const problem = await add({ items });
    const places = items.flatMap((item, i) => (item === '' ? [i] : [])).slice(0, 100);
    expect((problem.errors as { pointer: string }[]).map(({ pointer }) => pointer)).toEqual(
      places.map((i) => `#/items/${i}`),
    );
    expect(problem.detail).toContain('items[28] must not be empty');
    expect(problem.detail).not.toContain('items[31]');
    expect(problem.detail).toContain('and 90 more');
  });

  it('accepts 10,000 items, and items of exactly 8 KiB', async () => {
    const items = Array.from({ length: 10_000 }, (_, i) => `item ${i}`);
    for (const list of [items, ['€'.repeat(2_730) + 'xx'], ['x'.repeat(8_192)]]) {
      expect(await call(app, 'POST', `/v1/filters/${filter}/items/check`, { items: list })).toMatchObject({
        status: 200,
      });
    }
  });

  it('refuses lone surrogates, and tells pairs apart', async () => {
    expect((await add('{"items":["ok","\\ud83d"]}')).detail).toContain('[1] must be well-formed Unicode');
    expect((await add('{"items":["\\ude00\\ud83d"]}')).detail).toContain('well-formed');
    const pair = await call(
      app,
      'POST',
      `/v1/filters/${filter}/items/add`,
      '{"items":["\\ud83d\\ude00","\\u0000","\\ufffd"]}',
    );
    expect(pair).toMatchObject({ status: 200, body: { results: [true, true, true] } });
  });

  it('shows values truncated, escaped, and without userinfo', async () => {
    const problem = await add({ items: [`https://user:secret@example.org/${'x'.repeat(9_000)}`] });
    expect(problem.detail).not.toContain('secret');
    expect(problem.detail).toContain('https://***@example.org/xxx');
    expect((problem.detail as string).length).toBeLessThan(250);
    const odd = await invalid('POST', '/v1/filters', { ...GOOD, name: '\u001b[2J\u202e\u0000' });
    expect(odd.detail).toContain('\\u001b[2J\\u202e\\u0000');
  });

  it('refuses broken UTF-8, naming the byte', async () => {
    const body = Buffer.concat([
      Buffer.from('{"items":["\ufffdx'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"]}'),
    ]);
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
    const response = await fetch(`${app.url}/v1/filters/${filter}/items/add`, init);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      code: 'VALIDATION_FAILED',
      detail: 'the body is not valid UTF-8 at byte 15',
    });
  });

  it.each([
    ['{"items": [', 11],
    ['{"items": ["a" "b"]}', 15],
    ['{"items": ["a",]}', 15],
    ["{'items': []}", 1],
    ['{"items": [NaN]}', 11],
    ['{"items": ["\n"]}', 12],
    ['{"items": ["\\x"]}', 12],
    ['[1] [2]', 4],
    ['{"a":1,}', 7],
    ['\ufeff{}', 0],
  ])('refuses broken JSON %j at %i', async (body, position) => {
    expect((await add(body)).detail).toBe(`the body is not valid JSON at character ${position}`);
  });

  it('treats deep nesting like any other wrong value', async () => {
    await add(`{"items": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
  });

  it('refuses batches of URLs by type only, because an invalid URL gets a verdict', async () => {
    const path = `/v1/visited-sets/${set}/urls/discover`;
    expect((await invalid('POST', path, { urls: [7] })).detail).toContain('[0] must be a string');
    expect((await invalid('POST', path, { items: ['http://a.org/'] })).detail).toContain(
      '"items" is not a member',
    );
    const { status, body } = await call(app, 'POST', path, '{"urls":["http://a.org/\\ud800"]}');
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { invalid: [{ index: 0, reason: 'lone surrogate' }] },
    });
  });

  it('refuses bad leases', async () => {
    const path = `/v1/visited-sets/${set}/queue`;
    for (const max of [0, 1_001, 1.5, '1', undefined])
      await invalid('POST', `${path}/lease`, { max, leaseSeconds: 1 });
    for (const leaseSeconds of [0, 86_401, null])
      await invalid('POST', `${path}/lease`, { max: 1, leaseSeconds });
    for (const ids of [undefined, 'x', [''], [7]]) await invalid('POST', `${path}/ack`, { ids });
  });
});

describe('requests', () => {
  it('refuses invalid names in paths, and reports unknown ones', async () => {
    for (const name of ['a%20b', '%3Aa', 'a%7Bb', '..%2f', 'x'.repeat(65), '%00', '-'])
      await invalid('GET', `/v1/filters/${name}`, undefined);
    await refused('GET', '/v1/filters/none', undefined, 'FILTER_NOT_FOUND', 404);
    await refused('GET', '/v1/visited-sets/none', undefined, 'VISITED_SET_NOT_FOUND', 404);
  });

  it('answers 404 on unknown routes', async () => {
    for (const path of [
      '/',
      '/v1',
      '/v2/filters',
      `/v1/filters/${filter}/items`,
      '/v1/filters/',
      '/%2e%2e/etc/passwd',
    ]) {
      await refused('GET', path, undefined, 'ROUTE_NOT_FOUND', 404);
    }
    await refused('GET', `/v1/filters/${'x'.repeat(2_000)}`, undefined, 'ROUTE_NOT_FOUND', 404);
    await refused('GET', '/v1/filters/%zz', undefined, 'VALIDATION_FAILED', 400);
  });

  it('names a known path’s methods', async () => {
    for (const [method, path, allow] of [
      ['PUT', '/v1/filters', 'GET, HEAD, POST'],
      ['PATCH', `/v1/filters/${filter}`, 'DELETE, GET, HEAD'],
      ['GET', `/v1/filters/${filter}/items/add`, 'POST'],
      ['DELETE', '/healthz', 'GET, HEAD'],
    ] as const) {
      const answer = await call(app, method, path);
      expect(answer).toMatchObject({ status: 405, body: { code: 'METHOD_NOT_ALLOWED' } });
      expect(answer.headers.get('allow')).toBe(allow);
    }
  });

  it('accepts JSON, and lines on stream routes', async () => {
    const type = (value: string): Record<string, string> => ({ 'content-type': value });
    for (const media of [
      'application/xml',
      'text/csv',
      'application/x-www-form-urlencoded',
      'nonsense',
      'application/json2',
    ]) {
      await refused(
        'POST',
        `/v1/filters/${filter}/items/add`,
        'a',
        'UNSUPPORTED_MEDIA_TYPE',
        415,
        type(media),
      );
    }
    for (const media of ['text/plain', 'application/x-ndjson']) {
      await refused('POST', '/v1/filters', 'a', 'UNSUPPORTED_MEDIA_TYPE', 415, type(media));
      await refused(
        'POST',
        `/v1/visited-sets/${set}/queue/ack`,
        'a',
        'UNSUPPORTED_MEDIA_TYPE',
        415,
        type(media),
      );
    }
    const gzip = { ...type('application/json'), 'content-encoding': 'gzip' };
    await refused('POST', `/v1/filters/${filter}/items/add`, '{}', 'UNSUPPORTED_MEDIA_TYPE', 415, gzip);
    for (const media of ['application/json; charset=utf-16', 'text/plain;charset="ISO-8859-1"']) {
      await refused(
        'POST',
        `/v1/filters/${filter}/items/add`,
        '{}',
        'UNSUPPORTED_MEDIA_TYPE',
        415,
        type(media),
      );
    }
    const charset = type('application/json; charset=utf-8');
    // Names of encodings are case-insensitive.
    const plain = { ...type('application/json; charset=UTF-8'), 'content-encoding': 'Identity' };
    for (const headers of [charset, plain]) {
      expect(
        await call(app, 'POST', `/v1/filters/${filter}/items/check`, { items: ['a'] }, headers),
      ).toMatchObject({ status: 200 });
    }
  });

  it('refuses a body that is too large, announced or not, and keeps the connection', async () => {
    const body = JSON.stringify({ items: Array<string>(200).fill('x'.repeat(8_000)) });
    await refused('POST', `/v1/filters/${filter}/items/add`, body, 'BODY_TOO_LARGE', 413);
    const chunked = new Blob([body]).stream();
    const init = {
      method: 'POST',
      body: chunked,
      duplex: 'half',
      headers: { 'content-type': 'application/json' },
    };
    const response = await fetch(`${app.url}/v1/filters/${filter}/items/add`, init as RequestInit);
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ code: 'BODY_TOO_LARGE' });
  });

  it('stops waiting for a body that doesn’t arrive', async () => {
    const hasty = await startApp({ REQUEST_TIMEOUT_MS: '1000' });
    try {
      const head = `POST /v1/filters/any/items/add HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
      const answer = await raw(`${head}Content-Length: 100\r\n\r\n{"items":`, hasty);
      expect(answer).toMatch(/^HTTP\/1\.1 408 /);
      expect(answer).toContain('"code":"REQUEST_TIMEOUT"');
    } finally {
      await hasty.close();
    }
  });

  it('answers bytes that aren’t HTTP', async () => {
    for (const text of [
      'NONSENSE\r\n\r\n',
      `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`,
    ]) {
      const answer = await raw(text);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain('"code":"VALIDATION_FAILED"');
    }
  });
});

/** The service's answer to raw bytes. It is a JSON body, or everything until the service closes the connection. */
function raw(text: string, { port }: TestApp = app): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString();
      if (answer.includes('}')) socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
  });
}
