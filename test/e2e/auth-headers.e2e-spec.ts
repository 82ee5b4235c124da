import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type TestApp } from '../support/app.js';
import { makeKey, type TestKey } from '../support/credentials.js';

const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** Sends bytes unchanged, which fetch wouldn't do, and reads the answer's head. */
async function exchange(app: TestApp, text: string): Promise<{ status: number; headers: Headers }> {
  const socket = connect(app.port, '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  socket.end(text);
  await once(socket, 'close');
  const [first = '', ...lines] = (answer.split('\r\n\r\n')[0] ?? '').split('\r\n');
  const headers = lines.map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]);
  return { status: Number(first.split(' ')[1]), headers: new Headers(headers) };
}

/** Sends a request with any headers on a new connection. */
const send = (app: TestApp, method: string, path: string, headers: Record<string, string> = {}) => {
  const all = { host: `127.0.0.1:${app.port}`, connection: 'close', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return exchange(app, [`${method} ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
};

describe('security headers', () => {
  let app: TestApp;
  let key: TestKey;
  beforeAll(async () => {
    app = await startApp({ AUTH: 'keys' });
    key = await makeKey(app, 'read');
  });
  afterAll(() => app.close());

  it.each([
    ['GET', '/healthz', 200],
    ['GET', '/v1/filters', 200],
    ['GET', '/v1/filters', 401],
    ['GET', '/v1/keys', 403],
    ['GET', '/v1/filters/none', 404],
    ['GET', '/nowhere', 404],
    ['PUT', '/v1/filters', 405],
    ['GET', '/v1/filters?limit=0', 400],
    ['GET', '/v1/filters/%zz', 400],
    ['GET', '/v1/filters/{long}', 404],
    ['POST', '/v1/plan', 415],
  ])('are on %s %s: %i', async (method, path, status) => {
    const length = method === 'POST' ? { 'content-type': 'a/b', 'content-length': '0' } : {};
    const answer = await send(app, method, path.replace('{long}', 'a'.repeat(2_000)), {
      ...(status !== 401 && key.headers),
      ...length,
    });
    expect(answer.status).toBe(status);
    expect(Object.fromEntries(answer.headers)).toMatchObject(HEADERS);
    expect(answer.headers.has('x-powered-by')).toBe(false);
    expect(answer.headers.has('access-control-allow-origin')).toBe(false);
  });

  it('are on answers to malformed requests', async () => {
    const { status, headers } = await exchange(app, 'nonsense\r\n\r\n');
    expect(status).toBe(400);
    expect(Object.fromEntries(headers)).toMatchObject(HEADERS);
  });

  it('let the docs page load its files, and run nothing inline', async () => {
    const { headers } = await send(app, 'GET', '/docs');
    const { 'content-security-policy': _, ...others } = HEADERS;
    expect(Object.fromEntries(headers)).toMatchObject(others);
    const policy = Object.fromEntries(
      (headers.get('content-security-policy') ?? '')
        .split(/; ?/)
        .map((part) => part.split(/ (.*)/s) as [string, string]),
    );
    expect(policy).toMatchObject({
      'default-src': "'self'",
      'style-src': "'self' 'unsafe-inline'",
      'img-src': "'self' data:",
      'frame-ancestors': "'none'",
    });
    // default-src covers scripts: they must be files of this service, not inline or built from strings.
    expect(policy).not.toHaveProperty('script-src');
    const html = await (await fetch(`${app.url}/docs`)).text();
    expect(html.match(/<script/g)).toHaveLength(2);
    expect(html.match(/<script src="docs\/[\w.-]+"><\/script>/g)).toHaveLength(2);
    expect(html).not.toMatch(/\son\w+=|javascript:|<style|style=/);
    const bundle = await (await fetch(`${app.url}/docs/swagger-ui-bundle.js`)).text();
    expect(bundle).toContain('SwaggerUIBundle');
    for (const [, path] of html.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)) {
      const answer = await fetch(`${app.url}/${path}`);
      const { status, headers } = answer;
      await answer.arrayBuffer();
      expect([path, status, headers.get('x-content-type-options')]).toEqual([path, 200, 'nosniff']);
    }
  });
});

describe('CORS_ORIGINS unset', () => {
  it('answers no web page from another origin, also with AUTH=keys', async () => {
    const app = await startApp({ AUTH: 'keys' });
    try {
      const { headers: credentials } = await makeKey(app, 'read');
      const foreign = { origin: 'https://app.example', 'sec-fetch-site': 'cross-site', host: 'evil.example' };
      // Without the key, the page learns nothing. With the key, the service accepts the call from any origin.
      expect((await send(app, 'GET', '/v1/filters', foreign)).status).toBe(401);
      const answer = await send(app, 'GET', '/v1/filters', { ...foreign, ...credentials });
      expect(answer.status).toBe(200);
      const preflight = { ...foreign, 'access-control-request-method': 'GET' };
      expect((await send(app, 'OPTIONS', '/v1/filters', preflight)).status).toBe(401);
      expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    } finally {
      await app.close();
    }
  });

  it('checks the Host with AUTH=keys and ALLOWED_HOSTS', async () => {
    const app = await startApp({ AUTH: 'keys', ALLOWED_HOSTS: 'unseen.example' });
    try {
      expect((await send(app, 'GET', '/healthz', { host: 'unseen.example' })).status).toBe(200);
      expect((await send(app, 'GET', '/healthz', { host: 'evil.example' })).status).toBe(403);
    } finally {
      await app.close();
    }
  });
});

describe.each(['keys', 'none', ''])('CORS_ORIGINS with AUTH=%s', (auth) => {
  const ORIGIN = 'https://app.example';
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ AUTH: auth, CORS_ORIGINS: `${ORIGIN}, http://localhost:5173` });
  });
  afterAll(() => app.close());

  it('lets pages of these origins send requests and read answers, including errors', async () => {
    const page = { origin: ORIGIN, 'sec-fetch-site': 'cross-site' };
    const preflight = await send(app, 'OPTIONS', '/v1/filters/x/items/add', {
      ...page,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,idempotency-key',
    });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
      'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key',
      'access-control-max-age': '600',
      vary: 'Origin',
    });
    expect(preflight.headers.has('access-control-allow-credentials')).toBe(false);
    const refused = await send(app, 'GET', '/v1/filters', page);
    expect(refused.status).toBe(auth === 'keys' ? 401 : 200);
    const missing = await send(app, 'GET', '/nowhere', page);
    for (const { headers } of [refused, missing]) {
      expect(headers.get('access-control-allow-origin')).toBe(ORIGIN);
      expect(headers.get('access-control-expose-headers')).toContain('X-Request-Id');
      expect(Object.fromEntries(headers)).toMatchObject(HEADERS);
    }
  });

  it.each([
    'https://evil.example',
    'https://app.example.evil.example',
    'http://app.example',
    'null',
    'HTTPS://APP.EXAMPLE',
  ])('refuses pages of %s', async (origin) => {
    for (const method of ['GET', 'OPTIONS']) {
      const ask = { origin, 'access-control-request-method': 'GET' };
      for (const path of ['/v1/filters', '/nowhere']) {
        const { status, headers } = await send(app, method, path, ask);
        expect([401, 403, 404]).toContain(status);
        expect(headers.get('content-type')).toBe('application/problem+json');
        expect(headers.has('access-control-allow-origin')).toBe(false);
      }
    }
  });

  it('doesn’t bypass 405 and 404', async () => {
    const { headers } = await makeKey(app, 'read');
    for (const [method, path, status] of [
      ['OPTIONS', '/v1/filters', 405],
      ['OPTIONS', '/nowhere', 404],
      ['GET', '/nowhere', 404],
      ['PUT', '/nowhere', 404],
    ] as const) {
      expect([method, path, (await send(app, method, path, headers)).status]).toEqual([method, path, status]);
      const page = { ...headers, origin: ORIGIN };
      expect([method, path, (await send(app, method, path, page)).status]).toEqual([method, path, status]);
    }
  });
});
