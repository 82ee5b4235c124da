import { createHmac, createPublicKey } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SYSTEM_CLOCK } from '#store';
import { PAUSE_MS, ROTATION_MS } from '../../src/auth/issuer-keys.js';
import { TokenVerifier } from '../../src/auth/token-verifier.js';
import { call, startApp, type Answer, type TestApp } from '../support/app.js';
import { bearer, makeKey } from '../support/credentials.js';
import { Clock } from '../support/in-process.js';
import { AUDIENCE, startIssuer, type Issuer } from '../support/issuer.js';
import type { MovedClock } from '../support/moved-clock.js';
import { until } from '../support/until.js';

const UNAUTHENTICATED = { status: 401, body: { code: 'UNAUTHENTICATED' } };
const UNKNOWN_NOW = { status: 503, body: { code: 'OVERLOADED' } };
const FILTER = { type: 'counting', capacity: 1_000, errorRate: 0.01 };

const seconds = (offset: number): number => Math.floor(Date.now() / 1_000) + offset;
const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('an issuer’s tokens', () => {
  let issuer: Issuer;
  let app: TestApp;
  const list = (token: string): Promise<Answer> => call(app, 'GET', '/v1/filters', undefined, bearer(token));

  beforeAll(async () => {
    issuer = await startIssuer();
    app = await startApp({ OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: AUDIENCE });
  });
  afterAll(async () => {
    await app.close();
    await issuer.stop();
  });

  it('are accepted with their scopes and prefix', async () => {
    const can = async (claims: object, method: string, path: string, body?: unknown): Promise<number> =>
      (await call(app, method, path, body, bearer(await issuer.token({ ...claims })))).status;
    expect(await can({}, 'GET', '/v1/filters')).toBe(200);
    expect(await can({}, 'POST', '/v1/filters', { name: 'x-a', ...FILTER })).toBe(403);
    const admin = { scope: 'openid unseen:admin email', unseen_prefix: 'acme-' };
    expect(await can(admin, 'POST', '/v1/filters', { name: 'acme-a', ...FILTER })).toBe(201);
    expect(await can(admin, 'POST', '/v1/filters', { name: 'x-a', ...FILTER })).toBe(403);
    expect(await can(admin, 'GET', '/v1/keys')).toBe(403);
    expect(await can({ scope: ['unseen:admin'] }, 'GET', '/v1/keys')).toBe(200);
    expect(await can({ unseen_prefix: 'beta-' }, 'GET', '/v1/filters/acme-a')).toBe(404);
    for (const scope of ['', 'read', 'unseen:root', 'unseen:admins', 'xunseen:admin', 7, null, { a: 1 }]) {
      expect(await can({ scope }, 'GET', '/v1/filters')).toBe(403);
    }
  });

  it('say how long they are valid', async () => {
    const settings = { issuer: issuer.url, audience: AUDIENCE, jwksUrl: undefined };
    const claims = { scopeClaim: 'scope', prefixClaim: 'prefix' };
    const verifier = new TokenVerifier({ ...settings, ...claims }, SYSTEM_CLOCK);
    const exp = seconds(3_600);
    const principal = await verifier.verify(await issuer.token({ exp }));
    expect(principal.credential).toEqual({ validUntil: (exp + 10) * 1_000 });
  });

  it('work beside keys', async () => {
    const { headers } = await makeKey(app, 'read');
    expect(await call(app, 'GET', '/v1/filters', undefined, headers)).toMatchObject({ status: 200 });
    expect(await call(app, 'GET', '/v1/filters')).toMatchObject(UNAUTHENTICATED);
  });

  it('are refused with any wrong claim', async () => {
    const wrong: Record<string, object> = {
      expired: { exp: seconds(-60) },
      'without an end': { exp: undefined },
      'with an end that is not a number': { exp: 'tomorrow' },
      'not valid yet': { nbf: seconds(3_600) },
      'for others': { aud: 'others' },
      'for nobody': { aud: undefined },
      'for an empty list': { aud: [] },
      'of another issuer': { iss: 'https://evil.example' },
      'of an issuer with a slash': { iss: `${issuer.url}/` },
      'of no issuer': { iss: undefined },
      'of nobody': { sub: undefined },
      'of an empty name': { sub: '' },
      'with a name that is not a string': { sub: 7 },
      'of a list of names': { sub: ['a'] },
      'of a long name': { sub: 'x'.repeat(256) },
      'with an invalid prefix': { unseen_prefix: 'acme' },
      'with an empty prefix': { unseen_prefix: '' },
      'with two prefixes': { unseen_prefix: ['acme-', 'beta-'] },
      'with a null prefix': { unseen_prefix: null },
    };
    for (const [name, claims] of Object.entries(wrong)) {
      const { status, headers, body } = await list(await issuer.token({ ...claims }));
      expect([name, status, headers.get('www-authenticate')]).toEqual([name, 401, 'Bearer']);
      expect(JSON.stringify(body)).not.toMatch(/claim|exp|aud|iss"/);
    }
    // The service's time stands still, because its tolerance is a few seconds.
    const time = jest.spyOn(app.app.get<MovedClock>(Clock), 'now').mockReturnValue(Date.now());
    for (const claims of [{ exp: seconds(-2) }, { nbf: seconds(2) }, { aud: ['others', AUDIENCE] }]) {
      expect(await list(await issuer.token(claims))).toMatchObject({ status: 200 });
    }
    time.mockRestore();
  });

  it('are refused unsigned, signed by others, or signed with the public key as a secret', async () => {
    const token = await issuer.token({ scope: 'unseen:admin' });
    const [header = '', payload = '', signature = ''] = token.split('.');
    const [jwk] = issuer.published;
    const pem = createPublicKey({ key: jwk as Record<string, string>, format: 'jwk' }).export({
      type: 'spki',
      format: 'pem',
    });
    const hmac = (secret: string | Buffer): string => {
      const head = base64({ alg: 'HS256', kid: jwk?.kid, typ: 'JWT' });
      const mac = createHmac('sha256', secret).update(`${head}.${payload}`).digest('base64url');
      return `${head}.${payload}.${mac}`;
    };
    const stranger = await startIssuer();
    const forged = await stranger.token({ iss: issuer.url }, { kid: jwk?.kid });
    const embedded = await stranger.token({ iss: issuer.url }, { jwk: stranger.published[0], kid: 'first' });
    const pointing = await stranger.token({ iss: issuer.url }, { jku: `${stranger.url}/jwks`, kid: 'first' });
    const before = stranger.asked.keys;
    const tokens: Record<string, string> = {
      'alg none': `${base64({ alg: 'none' })}.${payload}.`,
      'alg None': `${base64({ alg: 'None' })}.${payload}.`,
      'alg none, signature kept': `${base64({ alg: 'none' })}.${payload}.${signature}`,
      'HS256 with the public key, PEM': hmac(pem),
      'HS256 with the public key, JWK': hmac(JSON.stringify(jwk)),
      'HS256 with nothing': hmac(''),
      'another claim': `${header}.${base64({ ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object), sub: 'x' })}.${signature}`,
      'no signature': `${header}.${payload}.`,
      'a signature of zeros': `${header}.${payload}.${Buffer.alloc(64).toString('base64url')}`,
      'another issuer’s key': forged,
      'its own key': embedded,
      'its own key server': pointing,
      'an unknown critical header': `${base64({ alg: 'ES256', kid: 'first', crit: ['x'], x: 1 })}.${payload}.${signature}`,
      'four parts': `${token}.x`,
      'no JSON': `${Buffer.from('x').toString('base64url')}.${payload}.${signature}`,
      dots: '..',
      'one word': 'x',
    };
    for (const [name, forgery] of Object.entries(tokens)) {
      expect([name, (await list(forgery)).status]).toEqual([name, 401]);
    }
    expect(stranger.asked.keys).toBe(before);
    await stranger.stop();
    expect(await list(token)).toMatchObject({ status: 200 });
  });

  it('with an unknown key are refused, without a request to the issuer each time', async () => {
    const tokens = await Promise.all(
      Array.from({ length: 200 }, (_, i) => issuer.token({}, { kid: `made-up-${i}` })),
    );
    const before = issuer.asked.keys;
    const began = Date.now();
    const unknown = await Promise.all(tokens.map((token) => list(token)));
    expect(unknown.every(({ status }) => status === 401)).toBe(true);
    // On a slow machine, the calls take long enough for further requests.
    const pauses = Math.floor((Date.now() - began) / ROTATION_MS);
    expect(issuer.asked.keys - before).toBeLessThanOrEqual(2 + pauses);
  });

  it('are accepted with a rotated key once it is known, and then refused with the old one', async () => {
    const old = await issuer.token();
    await issuer.rotate('second');
    const token = await issuer.token();
    await until('the service accepts the new key', async () => (await list(token)).status === 200);
    expect(await list(old)).toMatchObject(UNAUTHENTICATED);
  });

  it('signed with known keys are accepted while the issuer is unavailable', async () => {
    issuer.sick = (reply) => reply.socket?.destroy();
    try {
      expect(await list(await issuer.token())).toMatchObject({ status: 200 });
      expect(await list(await issuer.token({ aud: 'others' }))).toMatchObject(UNAUTHENTICATED);
      // While the issuer is unavailable, a token's unknown key may be a new one.
      const unknown = await issuer.token({}, { kid: 'third' });
      await until('the service fetches the keys again', async () => (await list(unknown)).status === 503);
      expect(await list(await issuer.token())).toMatchObject({ status: 200 });
    } finally {
      issuer.sick = undefined;
    }
  });
});

describe('an issuer whose keys are unavailable', () => {
  it.each([
    ['does not answer', (reply: { socket: { destroy(): void } | null }) => reply.socket?.destroy()],
    [
      'answers 500',
      (reply: { statusCode: number; end(): unknown }) => ((reply.statusCode = 500), reply.end()),
    ],
    ['answers no JSON', (reply: { end(text: string): unknown }) => reply.end('<html>')],
    [
      'answers another issuer’s configuration',
      (reply: { end(text: string): unknown }) => reply.end('{"issuer":"x"}'),
    ],
    [
      'sends us on',
      (reply: { writeHead(code: number, headers: object): { end(): unknown } }) =>
        reply.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    ],
  ] as [string, NonNullable<Issuer['sick']>][])(
    'is 503, not 401, when it %s; then it recovers',
    async (_, sick) => {
      const issuer = await startIssuer();
      const app = await startApp({ OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: AUDIENCE });
      try {
        issuer.sick = sick;
        const token = await issuer.token();
        const list = (): Promise<Answer> => call(app, 'GET', '/v1/filters', undefined, bearer(token));
        const began = Date.now();
        const answers = await Promise.all(Array.from({ length: 20 }, list));
        // On a slow machine, the calls take long enough for further requests.
        const pauses = Math.floor((Date.now() - began) / PAUSE_MS);
        for (const answer of answers) {
          expect(answer).toMatchObject(UNKNOWN_NOW);
          expect(answer.headers.get('retry-after')).toBe('1');
          expect(JSON.stringify(answer.body)).not.toMatch(/127\.0\.0\.1|http:/);
        }
        expect(issuer.asked.configuration).toBeLessThanOrEqual(3 + pauses);
        const { headers } = await makeKey(app, 'read');
        expect(await call(app, 'GET', '/v1/filters', undefined, headers)).toMatchObject({ status: 200 });
        expect(await call(app, 'GET', '/healthz')).toMatchObject({ status: 200 });
        issuer.sick = undefined;
        await until('the service has called the issuer again', async () => (await list()).status === 200);
      } finally {
        await app.close();
        await issuer.stop();
      }
    },
  );
});

describe('an issuer’s settings', () => {
  it('can name its keys and its claims', async () => {
    const issuer = await startIssuer();
    const app = await startApp({
      OIDC_ISSUER: 'https://issuer.example/realm',
      OIDC_AUDIENCE: AUDIENCE,
      OIDC_JWKS_URL: `${issuer.url}/jwks`,
      OIDC_SCOPE_CLAIM: 'roles',
      OIDC_PREFIX_CLAIM: 'https://unseen.example/tenant',
    });
    try {
      const claims = {
        iss: 'https://issuer.example/realm',
        roles: ['unseen:write'],
        'https://unseen.example/tenant': 'acme-',
      };
      const { headers } = { headers: bearer(await issuer.token(claims)) };
      expect(await call(app, 'GET', '/v1/filters', undefined, headers)).toMatchObject({ status: 200 });
      expect(await call(app, 'GET', '/metrics', undefined, headers)).toMatchObject({ status: 403 });
      expect(await call(app, 'POST', '/v1/filters', { name: 'acme-x', ...FILTER }, headers)).toMatchObject({
        status: 403,
      });
      expect(issuer.asked).toEqual({ keys: 1, configuration: 0 });
    } finally {
      await app.close();
      await issuer.stop();
    }
  });
});
