import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, startApp, type Answer, type TestApp } from '../support/app.js';
import { ApiKeys } from '../support/in-process.js';
import { bearer, makeKey, type TestKey } from '../support/credentials.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import { STORES } from './stores.js';

interface Key {
  readonly id: string;
  readonly key: string;
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly lastUsedAt?: string;
}

const YEARS_MS = 10 * 365 * 86_400_000;

describe.each(STORES)('keys that are rotated, $name store', ({ start }) => {
  let app: TestApp;
  let ops: TestKey;
  const asOps = (method: string, path: string, body?: unknown): Promise<Answer> =>
    call(app, method, path, body, ops.headers);
  const make = async (options: object = {}): Promise<Key> =>
    (await asOps('POST', '/v1/keys', { name: 'worker', scopes: ['write'], ...options })).body as Key;
  const rotate = (id: string, body?: unknown): Promise<Answer> =>
    asOps('POST', `/v1/keys/${id}/rotate`, body);
  const listed = async (id: string): Promise<Key> => {
    const { keys } = (await asOps('GET', '/v1/keys')).body as { keys: Key[] };
    return keys.find((key) => key.id === id)!;
  };
  const statusWith = async ({ key }: Key): Promise<number> =>
    (await call(app, 'GET', '/v1/me', undefined, bearer(key))).status;

  beforeAll(async () => {
    app = await start();
    ops = await makeKey(app, 'admin');
  });
  afterAll(() => app.close());

  it('get a successor with the same permissions, and stay valid for a day', async () => {
    const old = await make({ prefix: 'acme-', maxFilters: 3, maxBytes: 5_000 });
    const before = Date.now();
    const { status, body } = await rotate(old.id);
    const after = Date.now();
    const { id, key, createdAt, ...rest } = body as Key;
    expect([status, id === old.id, key === old.key]).toEqual([201, false, false]);
    expect(Date.parse(createdAt)).toBeGreaterThanOrEqual(before);
    expect(rest).toEqual({
      ...{ name: 'worker', scopes: ['write'], prefix: 'acme-', maxFilters: 3, maxBytes: 5_000 },
    });
    const end = Date.parse((await listed(old.id)).expiresAt!);
    expect(end - before).toBeGreaterThanOrEqual(86_400_000);
    expect(end - after).toBeLessThanOrEqual(86_400_000);
    expect(await Promise.all([statusWith(old), statusWith(body as Key)])).toEqual([200, 200]);
  });

  it('stop working immediately without an overlap', async () => {
    const old = await make();
    const next = (await rotate(old.id, { overlapSeconds: 0 })).body as Key;
    expect(await Promise.all([statusWith(old), statusWith(next)])).toEqual([401, 200]);
  });

  it('never gain lifetime, and their successors get the original lifetime', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const old = await make({ expiresAt });
    const lifetime = Date.parse(expiresAt) - Date.parse(old.createdAt);
    const next = (await rotate(old.id, { overlapSeconds: 2_592_000 })).body as Key;
    expect((await listed(old.id)).expiresAt).toBe(expiresAt);
    expect(Date.parse(next.expiresAt!) - Date.parse(next.createdAt)).toBe(lifetime);
  });

  it('must exist, and the request must be valid', async () => {
    const { id } = await make();
    expect(await rotate('0123456789abcdef')).toMatchObject({ status: 404, body: { code: 'KEY_NOT_FOUND' } });
    for (const body of [
      ...[-1, 2_592_001, 1.5, '60', null].map((overlapSeconds) => ({ overlapSeconds })),
      ...[{ other: 1 }, [], 'text'],
    ]) {
      expect([body, await rotate(id, body)]).toMatchObject([
        body,
        { status: 400, body: { code: 'VALIDATION_FAILED' } },
      ]);
    }
    expect(await listed(id)).not.toHaveProperty('expiresAt');
    await asOps('DELETE', `/v1/keys/${id}`);
    expect(await rotate(id)).toMatchObject({ status: 404 });
  });

  it('stay revoked if they are revoked during the rotation, and get no successor', async () => {
    const old = await make({ name: 'revoked meanwhile' });
    const keys = app.app.get(ApiKeys);
    const { add } = keys;
    keys.add = async (key) => {
      await add.call(keys, key);
      await keys.revoke(old.id);
    };
    try {
      expect(await rotate(old.id)).toMatchObject({ status: 404, body: { code: 'KEY_NOT_FOUND' } });
    } finally {
      keys.add = add;
    }
    const { keys: all } = (await asOps('GET', '/v1/keys')).body as { keys: { name: string }[] };
    expect(all.filter(({ name }) => name === 'revoked meanwhile')).toEqual([]);
  });

  it('can be rotated only by administrators without a prefix', async () => {
    const { id } = await make();
    const others = [await makeKey(app, 'write'), await makeKey(app, 'admin', { prefix: 'acme-' })];
    for (const { headers } of others) {
      const answer = await call(app, 'POST', `/v1/keys/${id}/rotate`, undefined, headers);
      expect(answer).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    }
  });

  it('show when they last succeeded', async () => {
    const key = await make();
    expect(await listed(key.id)).not.toHaveProperty('lastUsedAt');
    const wrong = `${key.key.slice(0, -43)}${'x'.repeat(43)}`;
    expect((await call(app, 'GET', '/v1/me', undefined, bearer(wrong))).status).toBe(401);
    expect(await listed(key.id)).not.toHaveProperty('lastUsedAt');
    const before = Date.now();
    expect(await statusWith(key)).toBe(200);
    const used = Date.parse((await listed(key.id)).lastUsedAt!);
    const after = Date.now();
    expect(used).toBeGreaterThanOrEqual(before);
    expect(used).toBeLessThanOrEqual(after);
  });

  it('show their holders their permissions', async () => {
    const expiresAt = new Date(Date.now() + YEARS_MS).toISOString();
    const { id, key } = await make({ prefix: 'acme-', expiresAt });
    expect(await call(app, 'GET', '/v1/me', undefined, bearer(key))).toMatchObject({
      status: 200,
      body: { id: `key:${id}`, name: 'worker', scopes: ['write'], prefix: 'acme-', expiresAt },
    });
    expect((await call(app, 'GET', '/v1/me', undefined, ops.headers)).body).toEqual({
      ...{ id: `key:${ops.id}`, name: 'test admin', scopes: ['admin'] },
    });
    expect((await call(app, 'GET', '/v1/me')).status).toBe(401);
  });
});

describe('the caller’s permissions', () => {
  it('are unlimited if no credentials are required', async () => {
    const app = await startApp();
    try {
      const { body } = await call(app, 'GET', '/v1/me');
      expect(body).toEqual({ id: 'anonymous', name: 'anonymous', scopes: ['admin'] });
    } finally {
      await app.close();
    }
  });

  it('are the token’s until it expires', async () => {
    const issuer = await startIssuer();
    const app = await startApp({ OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: AUDIENCE });
    try {
      const exp = Math.floor(Date.now() / 1_000) + 3_600;
      const claims = { sub: 'alice', scope: 'unseen:write', unseen_prefix: 'acme-', exp };
      const { status, body } = await call(
        app,
        'GET',
        '/v1/me',
        undefined,
        bearer(await issuer.token(claims)),
      );
      expect([status, body]).toMatchObject([
        200,
        { id: 'jwt:alice', name: 'alice', scopes: ['write'], prefix: 'acme-' },
      ]);
      const { expiresAt } = body as { expiresAt: string };
      expect(Date.parse(expiresAt)).toBeGreaterThanOrEqual(exp * 1_000);
      const none = await issuer.token({ scope: '' });
      expect((await call(app, 'GET', '/v1/me', undefined, bearer(none))).status).toBe(403);
    } finally {
      await app.close();
      await issuer.stop();
    }
  });
});
