import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SCOPES, type Access } from '../../src/request/scope.js';
import { makeKeyText, formatKey } from '../../src/auth/key-text.js';
import { call, freshName, startApp, type Answer, type TestApp } from '../support/app.js';
import { createApp, readConfig, Store } from '../support/in-process.js';
import { statusOf } from '../support/status-of.js';
import { bearer, makeKey, type TestKey } from '../support/credentials.js';
import { RawClient } from '../support/raw-client.js';
import { startRedis } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { STORES } from './stores.js';

const UNAUTHENTICATED = { status: 401, body: { code: 'UNAUTHENTICATED' } };
const FORBIDDEN = { status: 403, body: { code: 'FORBIDDEN' } };
const FILTER = { type: 'counting', capacity: 1_000, errorRate: 0.01 };
const HOUR_MS = 3_600_000;

/** The scope that each of the API's routes needs. The test below fails for a route that is missing here. */
const ACCESS: Readonly<Record<string, Access>> = {
  'get /healthz': 'public',
  'get /readyz': 'public',
  'get /metrics': 'read',
  'post /v1/plan': 'read',
  'get /v1/keys': 'admin',
  'post /v1/keys': 'admin',
  'delete /v1/keys/{id}': 'admin',
  'post /v1/keys/{id}/rotate': 'admin',
  'get /v1/me': 'read',
  ...ofBoth('get /v1/*', 'read'),
  ...ofBoth('post /v1/*', 'admin'),
  ...ofBoth('get /v1/*/{name}', 'read'),
  ...ofBoth('delete /v1/*/{name}', 'admin'),
  ...ofBoth('post /v1/*/{name}/clear', 'admin'),
  ...ofBoth('get /v1/*/{name}/export', 'admin'),
  ...ofBoth('get /v1/*/{name}/history', 'read'),
  ...ofBoth('get /v1/*/{name}/counters', 'read'),
  ...ofBoth('post /v1/*/import', 'admin'),
  ...ofBoth('post /v1/*/{name}/syncs', 'admin'),
  ...ofBoth('get /v1/*/{name}/syncs/{id}', 'read'),
  ...ofBoth('delete /v1/*/{name}/syncs/{id}', 'admin'),
  ...ofBoth('post /v1/*/{name}/syncs/{id}/commit', 'admin'),
  'post /v1/filters/{name}/syncs/{id}/items': 'write',
  'post /v1/visited-sets/{name}/syncs/{id}/urls': 'write',
  'post /v1/filters/{name}/items/add': 'write',
  'post /v1/filters/{name}/items/check': 'read',
  'post /v1/filters/{name}/items/remove': 'write',
  'post /v1/filters/{name}/items/count': 'read',
  'post /v1/filters/{name}/items/explain': 'admin',
  'post /v1/visited-sets/{name}/urls/explain': 'admin',
  'post /v1/visited-sets/{name}/urls/discover': 'write',
  'post /v1/visited-sets/{name}/urls/visit': 'write',
  'post /v1/visited-sets/{name}/urls/check': 'read',
  'post /v1/visited-sets/{name}/urls/forget': 'write',
  'post /v1/visited-sets/{name}/queue/lease': 'write',
  'post /v1/visited-sets/{name}/queue/ack': 'write',
  'post /v1/visited-sets/{name}/queue/release': 'write',
  'post /v1/visited-sets/{name}/queue/extend': 'write',
  'get /v1/visited-sets/{name}/queue/urls': 'read',
  'post /v1/visited-sets/{name}/queue/drop': 'write',
  'get /v1/visited-sets/{name}/queue/dead-letters': 'read',
  'post /v1/visited-sets/{name}/queue/dead-letters/put-back': 'write',
  'post /v1/visited-sets/{name}/queue/dead-letters/purge': 'write',
  'get /v1/visited-sets/{name}/hosts': 'read',
  'get /v1/visited-sets/{name}/hosts/{host}': 'read',
  'put /v1/visited-sets/{name}/hosts/{host}': 'write',
  'delete /v1/visited-sets/{name}/hosts/{host}': 'write',
};

function ofBoth(route: string, access: Access): Record<string, Access> {
  return Object.fromEntries(['filters', 'visited-sets'].map((kind) => [route.replace('*', kind), access]));
}

describe.each(STORES)('API keys, $name store', ({ start }) => {
  let app: TestApp;
  const keys = {} as Record<(typeof SCOPES)[number], TestKey>;
  beforeAll(async () => {
    app = await start({ AUTH: 'keys' });
    for (const scope of SCOPES) keys[scope] = await makeKey(app, scope);
  });
  afterAll(() => app.close());

  it('leaves only the probes and the API description public', async () => {
    for (const path of [
      '/healthz',
      '/readyz',
      '/openapi.json',
      '/docs',
      '/docs/start.js',
      '/docs/swagger-ui.css',
    ]) {
      expect(await statusOf(app.url + path)).toBe(200);
    }
    for (const path of ['/metrics', '/v1/filters', '/v1/filters/x', '/v1/nothing', '/', '/docs/../v1/keys']) {
      expect(await statusOf(app.url + path)).toBe(401);
    }
  });

  it('requires each route’s scope, or a higher one', async () => {
    const { body } = await call(app, 'GET', '/openapi.json');
    const { paths } = body as { paths: Record<string, Record<string, { security: object[] }>> };
    const routes = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { security }]) => ({ method, path, security })),
    );
    expect(routes.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(Object.keys(ACCESS).sort());
    for (const { method, path, security } of routes) {
      const access = ACCESS[`${method} ${path}`]!;
      const target = path.replace(/\{\w+\}/, 'nobody');
      const answers = (headers: Record<string, string>): Promise<number> =>
        statusOf(app.url + target, { method: method.toUpperCase(), headers });
      expect(security).toEqual(access === 'public' ? [] : [{ credentials: [] }]);
      if (access === 'public') continue;
      expect([method, path, await answers({})]).toEqual([method, path, 401]);
      for (const scope of SCOPES) {
        const status = await answers(keys[scope].headers);
        const allowed = SCOPES.indexOf(scope) >= SCOPES.indexOf(access);
        expect([method, path, scope, [401, 403].includes(status)]).toEqual([method, path, scope, !allowed]);
      }
    }
  });

  it('treats HEAD as GET and refuses other methods, after authorization', async () => {
    const head = (path: string, headers: Record<string, string>): Promise<number> =>
      statusOf(app.url + path, { method: 'HEAD', headers });
    expect(await head('/v1/keys', {})).toBe(401);
    expect(await head('/v1/keys', keys.write.headers)).toBe(403);
    expect(await head('/v1/keys', keys.admin.headers)).toBe(200);
    expect(await call(app, 'PUT', '/v1/filters')).toMatchObject(UNAUTHENTICATED);
    expect(await call(app, 'PUT', '/v1/filters', undefined, keys.read.headers)).toMatchObject({
      status: 405,
    });
    expect(await call(app, 'GET', '/v1/nothing', undefined, keys.read.headers)).toMatchObject({
      status: 404,
    });
  });

  it('gives the same answer to all invalid credentials', async () => {
    const expiresAt = new Date(app.now() + HOUR_MS).toISOString();
    const expired = await makeKey(app, 'admin', { expiresAt });
    const revoked = await makeKey(app, 'admin');
    await call(app, 'DELETE', `/v1/keys/${revoked.id}`, undefined, keys.admin.headers);
    const { secret } = makeKeyText();
    app.advance(HOUR_MS);
    const wrong: Record<string, string | undefined> = {
      nothing: undefined,
      empty: '',
      scheme: `Basic ${Buffer.from(`x:${keys.admin.key}`).toString('base64')}`,
      'no scheme': keys.admin.key,
      'no key': 'Bearer',
      'two keys': `Bearer ${keys.admin.key} ${keys.admin.key}`,
      unknown: `Bearer ${formatKey(makeKeyText())}`,
      'wrong secret': `Bearer unseen_${keys.admin.id}_${secret}`,
      'another key’s secret': `Bearer unseen_${keys.admin.id}_${keys.read.key.slice(-43)}`,
      malformed: `Bearer ${keys.admin.key}x`,
      expired: `Bearer ${expired.key}`,
      revoked: `Bearer ${revoked.key}`,
      token: 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.',
      long: `Bearer ${'a'.repeat(10_000)}`,
      control: `Bearer ${keys.admin.key.slice(0, -1)}\u00e9`,
    };
    const answers: string[] = [];
    for (const [name, authorization] of Object.entries(wrong)) {
      const { status, headers, body } = await raw(app, authorization);
      expect([name, status, headers.get('www-authenticate')]).toEqual([name, 401, 'Bearer']);
      const { requestId, ...rest } = body as { requestId: string };
      expect(requestId).toBe(headers.get('x-request-id'));
      answers.push(JSON.stringify(rest));
    }
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toContain('"UNAUTHENTICATED"');
  });

  it('refuses credentials that are sent twice, whichever of them are valid', async () => {
    const { authorization } = keys.admin.headers;
    const twice = [
      [authorization, 'Bearer x'],
      ['Bearer x', authorization],
      [authorization, authorization],
    ];
    for (const values of twice) {
      const lines = values.map((value) => `Authorization: ${value}\r\n`).join('');
      const client = await RawClient.connect(app.port);
      try {
        client.send(`GET /v1/filters HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines}\r\n`);
        expect(await client.answer()).toMatchObject({
          status: 401,
          body: expect.stringContaining('"UNAUTHENTICATED"'),
        });
      } finally {
        client.destroy();
      }
    }
  });

  it('names an invalid scope and an invalid time', async () => {
    const refusal = async (dto: object): Promise<unknown> => {
      const made = await call(app, 'POST', '/v1/keys', { name: 'x', ...dto }, keys.admin.headers);
      return (made.body as { detail: string }).detail;
    };
    expect(await refusal({ scopes: ['read', 'root'] })).toBe(
      'scopes must be a list of "read", "write" and "admin"; "root" is not one of them',
    );
    for (const expiresAt of ['2100-13-01T00:00:00Z', '2100-02-30T00:00:00Z', '2100-01-01T25:00:00Z']) {
      expect(await refusal({ scopes: ['read'], expiresAt })).toBe(
        `expiresAt must be a time such as 2030-01-31T12:00:00Z; "${expiresAt}" is not a real date`,
      );
    }
    expect(await refusal({ scopes: ['read'], expiresAt: '2001-01-01T00:00:00Z' })).toBe(
      'expiresAt must be in the future, not "2001-01-01T00:00:00Z"',
    );
  });

  it('ignores the scheme’s case', async () => {
    for (const scheme of ['bearer', 'BEARER', 'Bearer ']) {
      expect(await raw(app, `${scheme} ${keys.admin.key}`)).toMatchObject({ status: 200 });
    }
  });

  it('refuses before the body is read', async () => {
    const refusal = await unfinished(app, '/v1/filters/x/items/add', {});
    expect(refusal).toBe(401);
    expect(await unfinished(app, '/v1/filters/x/items/add', keys.read.headers)).toBe(403);
  });

  it('creates, shows once, lists, and revokes keys', async () => {
    const dto = {
      name: 'nightly',
      scopes: ['write', 'read'],
      prefix: 'acme-',
      expiresAt: '2100-01-01T00:00:00+01:00',
    };
    const made = await call(app, 'POST', '/v1/keys', dto, keys.admin.headers);
    expect(made).toMatchObject({ status: 201 });
    expect(made.headers.get('cache-control')).toBe('no-store');
    const { key, ...view } = made.body as { key: string; id: string };
    expect(key).toMatch(new RegExp(`^unseen_${view.id}_[\\w-]{43}$`));
    expect(view).toEqual({
      id: view.id,
      name: 'nightly',
      scopes: ['read', 'write'],
      prefix: 'acme-',
      createdAt: expect.any(String),
      expiresAt: '2099-12-31T23:00:00.000Z',
    });
    const listed = await call(app, 'GET', '/v1/keys', undefined, keys.admin.headers);
    const { keys: all } = listed.body as { keys: { id: string }[] };
    expect(all).toContainEqual({ ...view, usage: { filters: 0, bytes: 0 } });
    expect(all.map(({ id }) => id)).toEqual([...all.map(({ id }) => id)].sort());
    expect(JSON.stringify(listed.body)).not.toMatch(/sha256|digest|secret|unseen_/);
    expect(await raw(app, `Bearer ${key}`, '/v1/filters')).toMatchObject({ status: 200 });
    const path = `/v1/keys/${view.id}`;
    expect(await call(app, 'DELETE', path, undefined, keys.admin.headers)).toMatchObject({ status: 204 });
    expect(await raw(app, `Bearer ${key}`, '/v1/filters')).toMatchObject(UNAUTHENTICATED);
    expect(await call(app, 'DELETE', path, undefined, keys.admin.headers)).toMatchObject({
      status: 404,
      body: { code: 'KEY_NOT_FOUND' },
    });
  });

  it.each([
    [{ scopes: ['read'] }, 'name'],
    [{ name: '', scopes: ['read'] }, 'name'],
    [{ name: 'a\nb', scopes: ['read'] }, 'name'],
    [{ name: 'x'.repeat(65), scopes: ['read'] }, 'name'],
    [{ name: 'x' }, 'scopes'],
    [{ name: 'x', scopes: [] }, 'scopes'],
    [{ name: 'x', scopes: 'read' }, 'scopes'],
    [{ name: 'x', scopes: ['root'] }, 'scopes'],
    [{ name: 'x', scopes: [['admin']] }, 'scopes'],
    [{ name: 'x', scopes: ['read'], prefix: '' }, 'prefix'],
    [{ name: 'x', scopes: ['read'], prefix: 'acme' }, 'prefix'],
    [{ name: 'x', scopes: ['read'], prefix: ':acme:' }, 'prefix'],
    [{ name: 'x', scopes: ['read'], prefix: null }, 'prefix'],
    [{ name: 'x', scopes: ['read'], expiresAt: '2001-01-01T00:00:00Z' }, 'expiresAt'],
    [{ name: 'x', scopes: ['read'], expiresAt: '2100-01-01' }, 'expiresAt'],
    [{ name: 'x', scopes: ['read'], expiresAt: '2100-13-01T00:00:00Z' }, 'expiresAt'],
    [{ name: 'x', scopes: ['read'], id: '0123456789abcdef' }, ''],
  ])('refuses to create a key from %j', async (dto, member) => {
    const answer = await call(app, 'POST', '/v1/keys', dto, keys.admin.headers);
    const errors = [{ pointer: member === '' ? '#' : `#/${member}`, detail: expect.any(String) }];
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED', errors } });
  });

  it('stores no secret', async () => {
    const { credentials } = app.app.get<Store>(Store);
    const kept = JSON.stringify(await credentials.list());
    for (const { key } of Object.values(keys)) expect(kept).not.toContain(key.slice(-43));
    expect(kept).toContain(keys.admin.id);
  });
});

describe('a key revoked by another instance', () => {
  it('is refused within seconds, and a key created there is accepted', async () => {
    const redis = await startRedis();
    const apps = [
      await startApp({ AUTH: 'keys', REDIS_URL: redis.url }),
      // This one must notice that Redis is gone.
      await startApp({ AUTH: 'keys', REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '2000' }),
    ];
    const [here, there] = apps as [TestApp, TestApp];
    try {
      const admin = await makeKey(here, 'admin');
      const status = async (app: TestApp, key: TestKey): Promise<number> =>
        (await call(app, 'GET', '/v1/filters', undefined, key.headers)).status;
      await until('the other instance accepts the new key', async () => (await status(there, admin)) === 200);
      const key = await makeKey(here, 'read');
      await until('the other instance accepts the other key', async () => (await status(there, key)) === 200);
      await call(here, 'DELETE', `/v1/keys/${key.id}`, undefined, admin.headers);
      expect(await status(here, key)).toBe(401);
      await until('the other instance refuses the key', async () => (await status(there, key)) === 401);
      await apps.shift()!.close();
      // The cached keys are too old by now, and the service can't check them without Redis.
      await redis.kill('SIGKILL');
      await until('keys cannot be checked', async () => (await status(there, admin)) === 503);
      expect(await call(there, 'GET', '/healthz')).toMatchObject({ status: 200 });
    } finally {
      for (const app of apps) await app.close();
      await redis.stop();
    }
  });
});

describe('AUTH unset', () => {
  it.each(STORES)(
    'is open until the first key is created, and never again, $name store',
    async ({ start }) => {
      const app = await start();
      try {
        expect(await call(app, 'POST', '/v1/filters', { name: freshName(), ...FILTER })).toMatchObject({
          status: 201,
        });
        expect(await call(app, 'GET', '/v1/keys', undefined, bearer('unseen_x'))).toMatchObject({
          status: 200,
        });
        const dto = { name: 'ops', scopes: ['admin'] };
        const { id, key } = (await call(app, 'POST', '/v1/keys', dto)).body as { id: string; key: string };
        for (const path of ['/v1/filters', '/v1/keys', '/metrics']) {
          expect(await call(app, 'GET', path)).toMatchObject(UNAUTHENTICATED);
        }
        expect(await call(app, 'GET', '/v1/keys', undefined, bearer(key))).toMatchObject({ status: 200 });
        await call(app, 'DELETE', `/v1/keys/${id}`, undefined, bearer(key));
        expect(await call(app, 'GET', '/v1/filters')).toMatchObject(UNAUTHENTICATED);
      } finally {
        await app.close();
      }
    },
  );

  it('refuses callers until Redis has confirmed that no key exists', async () => {
    const app = await startApp({ REDIS_URL: 'redis://127.0.0.1:1', REDIS_TIMEOUT_MS: '200' });
    try {
      for (const path of ['/v1/filters', '/metrics']) {
        expect(await call(app, 'GET', path)).toMatchObject({
          status: 503,
          body: { code: 'STORE_UNAVAILABLE' },
        });
      }
      expect(await call(app, 'POST', '/v1/plan', FILTER)).toMatchObject({ status: 503 });
      expect(await call(app, 'GET', '/healthz')).toMatchObject({ status: 200 });
    } finally {
      await app.close();
    }
  });

  it('refuses web pages even if keys exist', async () => {
    const app = await startApp();
    try {
      const { headers } = await makeKey(app, 'admin');
      const foreign = { ...headers, origin: 'http://evil.example' };
      expect(await call(app, 'GET', '/v1/filters', undefined, foreign)).toMatchObject(FORBIDDEN);
      expect(await call(app, 'GET', '/v1/filters', undefined, headers)).toMatchObject({ status: 200 });
    } finally {
      await app.close();
    }
  });
});

describe('a route', () => {
  it('can’t be registered without its access', async () => {
    const app = await createApp(readConfig({ STORE: 'redis', AUTH: 'none', LOG_LEVEL: 'silent' }));
    try {
      const server = app.getHttpAdapter().getInstance();
      const words = 'route /new does not declare its access';
      expect(() => server.get('/new', () => '')).toThrow(words);
      expect(() => server.get('/new', { config: { mutates: true } }, () => '')).toThrow(words);
      expect(() => server.get('/other', { config: { access: 'read' } }, () => '')).not.toThrow();
    } finally {
      await app.close();
    }
  });
});

describe('AUTH=none', () => {
  it('requires no key, even if keys exist, and logs that', async () => {
    const app = await startApp({ AUTH: 'none' });
    try {
      await makeKey(app, 'admin');
      expect(await call(app, 'GET', '/v1/keys')).toMatchObject({ status: 200 });
    } finally {
      await app.close();
    }
  });
});

/** Sends any Authorization header, even one that client libraries refuse. */
function raw(app: TestApp, authorization: string | undefined, path = '/v1/keys'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = authorization === undefined ? {} : { authorization };
    request({ port: app.port, host: '127.0.0.1', path, headers }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: new Headers(response.headers as Record<string, string>),
          body: JSON.parse(text),
        }),
      );
    })
      .on('error', reject)
      .end();
  });
}

/** The answer's status for a request whose body never ends. */
function unfinished(app: TestApp, path: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const all = { ...headers, 'content-type': 'text/plain', 'content-length': '1000000' };
    const sent = request(
      { port: app.port, host: '127.0.0.1', path, method: 'POST', headers: all },
      (response) => {
        resolve(response.statusCode ?? 0);
        sent.on('error', () => undefined);
        sent.destroy();
      },
    );
    sent.on('error', reject);
    sent.write('a\n');
  });
}
