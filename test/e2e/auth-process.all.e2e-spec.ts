import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { KEYS_LIFETIME_MS } from '../../src/auth/api-keys.js';
import { bearer } from '../support/credentials.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import { postHead, RawClient } from '../support/raw-client.js';
import { startRedis } from '../support/redis-server.js';
import { runProgram, startProcess, type Ended, type ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';

const FILTER = { type: 'counting', capacity: 1_000, errorRate: 0.01 };

/** The audit log takes this many lines per minute from one caller. */
const A_MINUTE = 60;

/**
 * The maximum number of lines since a moment. A new minute starts with the first line, and further minutes start as
 * time passes.
 */
const mostSince = (began: number): number =>
  A_MINUTE * (2 + Math.floor((performance.now() - began) / 60_000));

const running: ServiceProcess[] = [];
const start = async (env: Record<string, string> = {}): Promise<ServiceProcess> => {
  const service = await startProcess(env);
  running.push(service);
  return service;
};
afterEach(async () => {
  for (const service of running.splice(0)) await service.clean();
});

const keys = (env: Record<string, string>, ...args: string[]): Promise<Ended> =>
  runProgram('cli/unseen.js', ['keys', '--offline', ...args], env);

interface Sent {
  status: number;
  body: Record<string, unknown>;
  requestId: string;
}

/** Sends a JSON request with any headers on a new connection. */
async function send(
  url: string,
  method: string,
  path: string,
  headers: object = {},
  body?: unknown,
): Promise<Sent> {
  const json = { 'content-type': 'application/json', connection: 'close', ...headers };
  const sent = request(url + path, { method, headers: json });
  sent.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  const type = response.headers['content-type'] ?? '';
  return {
    status: response.statusCode ?? 0,
    body:
      type.includes('json') && text !== ''
        ? (JSON.parse(text.split('\n')[0]!) as Record<string, unknown>)
        : {},
    requestId: String(response.headers['x-request-id']),
  };
}

/** The audit lines in a program's output, without the fields that the logger adds. */
function audited(output: string): Record<string, unknown>[] {
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  return lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ audit }) => audit === true)
    .map(
      ({ level, time, service, audit, ...line }) => (
        expect([level, time, service, audit]).toBeDefined(),
        line
      ),
    );
}

describe('npm run keys', () => {
  it('creates the data folder on create, and not on list or revoke', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'unseen-keys-'));
    try {
      const env = { DATA_DIR: join(folder, 'mistyped') };
      for (const args of [['list'], ['revoke', '0123456789abcdef']]) {
        const refused = await keys(env, ...args);
        expect(refused).toMatchObject({ code: 2, stdout: '' });
        expect(refused.stderr).toBe(
          `unseen: DATA_DIR ${JSON.stringify(env.DATA_DIR)} contains no data of the service, so it has no keys; check the path\n`,
        );
        expect(await readdir(folder)).toEqual([]);
      }
      expect(await keys(env, 'create', '--name', 'ops')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("required option '--scope <scope...>' not specified"),
      });
      expect(await readdir(folder)).toEqual([]);
      expect(await keys(env, 'create', '--name', 'ops', '--scope', 'admin')).toMatchObject({ code: 0 });
      expect(await keys(env, 'list')).toMatchObject({ code: 0, stdout: expect.stringContaining('ops') });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('creates, lists, and revokes keys in the embedded store while the service is stopped', async () => {
    const dataDir = (await start()).dataDir;
    await running[0]!.url();
    running[0]!.child.kill('SIGTERM');
    await running[0]!.exit();
    const env = { DATA_DIR: dataDir };

    const made = await keys(env, 'create', '--name', 'ops', '--scope', 'admin');
    expect(made).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^unseen_[0-9a-f]{16}_[\w-]{43}\n$/),
    });
    const key = made.stdout.trim();
    const id = key.slice(7, 23);
    expect(audited(made.stderr)).toEqual([
      {
        principal: { id: 'cli', name: expect.any(String) },
        key: { id, name: 'ops', scopes: ['admin'], createdAt: expect.any(String) },
        msg: 'key created',
      },
    ]);
    expect(made.stderr).not.toContain(key.slice(-43));
    const list = await keys(env, 'list');
    expect(list).toMatchObject({ code: 0, stdout: expect.stringContaining(id) });
    expect(list.stdout).not.toContain(key.slice(-43));

    const service = await start({ ...env, AUTH: 'keys' });
    const url = await service.url();
    expect(await send(url, 'GET', '/v1/keys', bearer(key))).toMatchObject({ status: 200 });
    expect(service.stderr()).toBe('');
    const locked = await keys(env, 'create', '--name', 'x', '--scope', 'read');
    expect(locked).toMatchObject({ code: 2, stdout: '' });
    expect(locked.stderr).toMatch(
      /in use by another store; .*\. While the service is running, leave out --offline\.\n$/,
    );
    service.child.kill('SIGTERM');
    await service.exit();

    expect(await keys(env, 'revoke', '0123456789abcdef')).toMatchObject({ code: 4, stdout: '' });
    const revoked = await keys(env, 'revoke', id);
    expect(revoked).toMatchObject({ code: 0, stdout: '' });
    expect(audited(revoked.stderr)).toMatchObject([
      { principal: { id: 'cli' }, key: { id }, msg: 'key revoked' },
    ]);
    const again = await start({ ...env, AUTH: 'keys' });
    expect(await send(await again.url(), 'GET', '/v1/keys', bearer(key))).toMatchObject({ status: 401 });
  });

  it('creates and revokes keys in Redis while the service runs', async () => {
    const redis = await startRedis();
    try {
      const env = { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '600000' };
      const service = await start({ ...env, AUTH: 'keys' });
      const url = await service.url();
      await until('the service has warned', async () => service.stderr().includes('no API key exists'));
      expect(service.stderr()).toMatch(/npm run keys -- create --name ops --scope admin/);
      expect(await send(url, 'GET', '/v1/filters')).toMatchObject({ status: 401 });
      const made = await keys(
        env,
        'create',
        '--name',
        'a b',
        '--scope',
        'read',
        '--scope',
        'write',
        '--prefix',
        'acme-',
        '--max-filters',
        '1',
        '--max-bytes',
        '1000000',
      );
      const key = made.stdout.trim();
      const status = async (): Promise<number> => (await send(url, 'GET', '/v1/filters', bearer(key))).status;
      await service.advance(KEYS_LIFETIME_MS);
      expect(await status()).toBe(200);
      expect((await keys(env, 'list')).stdout).toMatch(
        / {2}read,write {2}names acme-… {2}filters 0 of 1 {2}bytes 0 of 1000000 {2}created .* {2}expires never {2}a b\n$/,
      );
      await keys(env, 'revoke', key.slice(7, 23));
      await service.advance(KEYS_LIFETIME_MS);
      expect(await status()).toBe(401);
    } finally {
      await redis.stop();
    }
  });

  it('reports errors in words, without a stack trace', async () => {
    const service = await start();
    await service.clean();
    const ended = await keys({ DATA_DIR: service.dataDir }, 'create', '--name', 'x', '--scope', 'root');
    const stderr =
      'unseen: scopes must be a list of "read", "write" and "admin"; "root" is not one of them\n';
    const many = await keys(
      { DATA_DIR: service.dataDir },
      ...['create', '--name', 'x', '--scope', 'read', '--prefix', 'a-', '--max-filters', 'many'],
    );
    const number = "'many' is invalid. It must be a whole number from 1 to 9007199254740991.";
    expect(many).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(number) });
    expect(ended).toEqual({ code: 4, stdout: '', stderr });
    await service.clean();
  });
});

describe('the audit log', () => {
  it('records caller, action, and outcome at any LOG_LEVEL', async () => {
    const service = await start({ LOG_LEVEL: 'fatal' });
    const url = await service.url();
    const first = await send(url, 'POST', '/v1/keys', {}, { name: 'ops', scopes: ['admin'] });
    const { key: ops, id } = first.body as { key: string; id: string };
    const reader = await send(url, 'POST', '/v1/keys', bearer(ops), { name: 'reader', scopes: ['read'] });
    const { key: readKey, id: readId } = reader.body as { key: string; id: string };
    const made = await send(url, 'POST', '/v1/filters', bearer(ops), { name: 'pages', ...FILTER });
    await send(url, 'POST', '/v1/filters/pages/items/add', bearer(ops), { items: ['a'] });
    const refused = await send(url, 'DELETE', '/v1/filters/pages', bearer(readKey));
    const absent = await send(url, 'POST', '/v1/visited-sets/none/clear', bearer(ops));
    const bad = await send(url, 'POST', '/v1/filters', bearer(ops), {
      name: 'https://user:secret@h/',
      ...FILTER,
    });
    const failed = await send(url, 'GET', '/v1/filters', bearer(`unseen_${id}_${'A'.repeat(43)}`));
    const dropped = await send(url, 'DELETE', '/v1/filters/pages', bearer(ops));
    const revoked = await send(url, 'DELETE', `/v1/keys/${readId}`, bearer(ops));
    const by = { principal: { id: `key:${id}`, name: 'ops' } };
    const expected = [
      {
        principal: { id: 'anonymous', name: 'anonymous' },
        key: expect.objectContaining({ id, name: 'ops' }),
        msg: 'key created',
      },
      {
        ...{ principal: { id: 'anonymous', name: 'anonymous' }, requestId: first.requestId, method: 'POST' },
        ...{ route: '/v1/keys', target: 'ops', status: 201, msg: 'admin call' },
      },
      { ...by, key: expect.objectContaining({ id: readId, scopes: ['read'] }), msg: 'key created' },
      call(by, 'POST', '/v1/keys', 'reader', reader),
      call(by, 'POST', '/v1/filters', 'pages', made),
      call(
        { principal: { id: `key:${readId}`, name: 'reader' } },
        'DELETE',
        '/v1/filters/:name',
        'pages',
        refused,
      ),
      call(by, 'POST', '/v1/visited-sets/:name/clear', 'none', absent),
      call(by, 'POST', '/v1/filters', 'https://***@h/', bad),
      {
        ...{ requestId: failed.requestId, method: 'GET', route: '/v1/filters', remote: '127.0.0.1' },
        ...{ reason: 'wrong secret', status: 401, msg: 'failed authentication' },
      },
      call(by, 'DELETE', '/v1/filters/:name', 'pages', dropped),
      { ...by, key: { id: readId }, msg: 'key revoked' },
      call(by, 'DELETE', '/v1/keys/:id', readId, revoked),
    ];
    await until('all calls are logged', async () => audited(service.stdout()).length >= expected.length);
    expect(audited(service.stdout())).toEqual(expected);
    expect([made, refused, absent, bad, dropped, revoked].map(({ status }) => status)).toEqual([
      201, 403, 404, 400, 204, 204,
    ]);
  });

  it('records calls without a status if the client disconnects before the answer', async () => {
    const service = await start();
    const port = Number(new URL(await service.url()).port);
    const json = { 'content-type': 'application/json', 'content-length': 99 };
    const client = await RawClient.connect(port);
    await new Promise((sent) => client.socket.write(`${postHead('/v1/filters', json)}{"name":`, sent));
    client.destroy();
    await until('the call is logged', async () => audited(service.stdout()).length > 0);
    expect(audited(service.stdout())).toEqual([
      {
        principal: { id: 'anonymous', name: 'anonymous' },
        ...{ requestId: expect.any(String), method: 'POST', route: '/v1/filters', msg: 'admin call' },
      },
    ]);
  });

  it('names an import’s set or filter, successful or not', async () => {
    const service = await start();
    const url = await service.url();
    await send(url, 'POST', '/v1/filters', {}, { name: 'pages', ...FILTER });
    const file = Buffer.from(await (await fetch(`${url}/v1/filters/pages/export`)).arrayBuffer());
    const headers = { 'content-type': 'application/octet-stream' };
    for (const query of ['', '?name=copy']) {
      await fetch(`${url}/v1/filters/import${query}`, { method: 'POST', headers, body: file });
    }
    await fetch(`${url}/v1/filters/import`, { method: 'POST', headers, body: 'no export' });
    await until('all calls are logged', async () => audited(service.stdout()).length >= 5);
    const imports = audited(service.stdout()).filter(({ route }) => route === '/v1/filters/import');
    expect(imports.map(({ status, target }) => [status, target])).toEqual([
      [409, 'pages'],
      [201, 'copy'],
      [400, undefined],
    ]);
  });

  it('can’t be flooded by guessing keys', async () => {
    const service = await start({ AUTH: 'keys', LOG_LEVEL: 'trace' });
    const url = await service.url();
    const began = performance.now();
    for (let i = 0; i < 20; i++)
      await Promise.all(Array.from({ length: 10 }, () => send(url, 'GET', '/v1/filters')));
    await until('failures are logged', async () => audited(service.stdout()).length >= A_MINUTE);
    expect(audited(service.stdout()).length).toBeLessThanOrEqual(mostSince(began));
  });

  it('can’t be flooded by one caller’s denied calls, and still records all other callers’ calls', async () => {
    const service = await start({ LOG_LEVEL: 'fatal' });
    const url = await service.url();
    const first = await send(url, 'POST', '/v1/keys', {}, { name: 'ops', scopes: ['admin'] });
    const { key: ops } = first.body as { key: string };
    const reader = await send(url, 'POST', '/v1/keys', bearer(ops), { name: 'reader', scopes: ['read'] });
    const { key: readKey, id: readId } = reader.body as { key: string; id: string };
    const FORBIDDEN = 200;
    const began = performance.now();
    for (let i = 0; i < FORBIDDEN / 10; i++) {
      const calls = Array.from({ length: 10 }, () =>
        send(url, 'DELETE', '/v1/filters/pages', bearer(readKey)),
      );
      for (const { status } of await Promise.all(calls)) expect(status).toBe(403);
      await send(url, 'POST', '/v1/visited-sets/none/clear', bearer(ops));
    }
    const of = (status: number) => audited(service.stdout()).filter((line) => line['status'] === status);
    await until('all calls of the other caller are logged', async () => of(404).length === 20);
    expect(of(403).length).toBeGreaterThanOrEqual(A_MINUTE);
    expect(of(403).length).toBeLessThanOrEqual(mostSince(began));
    expect(of(403)[0]).toMatchObject({ principal: { id: `key:${readId}` }, msg: 'admin call' });
  });

  it('is silent with the log', async () => {
    const service = await start({ AUTH: 'keys', LOG_LEVEL: 'silent' });
    const url = await service.url();
    await send(url, 'GET', '/v1/filters');
    service.child.kill('SIGTERM');
    await service.exit();
    expect(audited(service.stdout())).toEqual([]);
  });
});

const call = (
  by: object,
  method: string,
  route: string,
  target: string,
  { requestId, status }: Sent,
): object => ({
  ...by,
  ...{ requestId, method, route, target, status, msg: 'admin call' },
});

describe('the service’s output at LOG_LEVEL=trace', () => {
  it('contains no secret from a whole session: passwords, keys, tokens, userinfo, seeds', async () => {
    const password = 'redis-password-5f3a';
    const redis = await startRedis({ args: ['--user', 'unseen', 'on', `>${password}`, '~*', '&*', '+@all'] });
    const issuer = await startIssuer();
    const client = new Redis(redis.port, '127.0.0.1');
    const env = { REDIS_URL: redis.url.replace('//', `//unseen:${password}@`), REDIS_TIMEOUT_MS: '600000' };
    const ofService = { ...env, LOG_LEVEL: 'trace', OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: AUDIENCE };
    try {
      const service = await start(ofService);
      const url = await service.url();
      const made = await keys({ ...env, LOG_LEVEL: 'trace' }, 'create', '--name', 'ops', '--scope', 'admin');
      const ops = made.stdout.trim();
      await service.advance(KEYS_LIFETIME_MS);
      expect((await send(url, 'GET', '/v1/keys', bearer(ops))).status).toBe(200);
      const second = (await send(url, 'POST', '/v1/keys', bearer(ops), { name: 'x', scopes: ['read'] }))
        .body as { key: string; id: string };
      const tokens = [
        await issuer.token({ scope: 'unseen:admin' }),
        await issuer.token({ exp: 1 }),
        await issuer.token({}, { kid: 'unknown' }),
        `${(await issuer.token()).slice(0, -10)}AAAAAAAAAA`,
      ];
      const userinfo = 'https://joe:user-password-77@example.org/a';
      const wrong = `unseen_${second.id}_${'Zz9-'.repeat(11).slice(0, 43)}`;
      for (const credentials of [ops, second.key, ...tokens, wrong, `${ops}x`, userinfo]) {
        const headers = { ...bearer(credentials), 'x-api-key': credentials, cookie: `k=${credentials}` };
        await send(url, 'GET', '/v1/filters', headers);
        await send(url, 'DELETE', `/v1/filters/${encodeURIComponent(userinfo)}`, headers);
        await send(url, 'POST', '/v1/filters', headers, { name: userinfo, ...FILTER });
        await send(url, 'POST', '/v1/filters', headers, `{"name": ${userinfo}`);
        await send(url, 'GET', `/v1/filters?key=${encodeURIComponent(credentials)}&cursor=%zz`, headers);
        await send(url, 'GET', `/%zz/${credentials}`, headers);
        await send(url, 'GET', '/v1/filters', {
          ...headers,
          host: 'joe:user-password-77@h',
          origin: userinfo,
        });
      }
      await send(url, 'POST', '/v1/visited-sets', bearer(ops), { name: 'crawl', capacity: 1_000 });
      await send(url, 'POST', '/v1/visited-sets/crawl/urls/discover', bearer(ops), {
        urls: [userinfo, 'ftp://joe:user-password-77@h'],
      });
      await send(
        url,
        'POST',
        '/v1/visited-sets/crawl/urls/discover',
        { ...bearer(ops), 'content-type': 'text/plain' },
        `${userinfo}\n`,
      );
      await send(url, 'POST', '/v1/visited-sets/crawl/queue/lease', bearer(ops), {
        max: 1,
        leaseSeconds: 60,
      });
      const kept = Object.values(await client.hgetall('unseen:{catalogue}:filters')).filter((text) =>
        text.includes('seed'),
      );
      const seeds = kept.map((text) => (JSON.parse(text) as { seed: string }).seed);
      expect(seeds).toHaveLength(1);
      const digests = Object.values(await client.hgetall('unseen:{catalogue}:credentials')).map(
        (text) => (JSON.parse(text) as { sha256: string }).sha256,
      );
      expect(digests).toHaveLength(2);
      // A second service that doesn't wait long for Redis.
      const hasty = await start({ ...ofService, REDIS_TIMEOUT_MS: '500' });
      const failing = await hasty.url();
      await until(
        'the service has read the keys',
        async () => (await send(failing, 'GET', '/v1/keys', bearer(ops))).status === 200,
      );
      // Redis denies access, then loses the user, then dies: three different failures.
      await client.acl('SETUSER', 'unseen', '-@all');
      await send(failing, 'POST', '/v1/visited-sets/crawl/urls/discover', bearer(tokens[0]!), {
        urls: [userinfo],
      });
      await client.acl('SETUSER', 'unseen', '+@all', '-evalsha', '-eval');
      await send(failing, 'POST', '/v1/visited-sets/crawl/urls/discover', bearer(tokens[0]!), {
        urls: [userinfo],
      });
      await client.acl('DELUSER', 'unseen');
      await send(failing, 'GET', '/readyz');
      await send(failing, 'POST', '/v1/visited-sets/crawl/urls/check', bearer(ops), { urls: [userinfo] });
      await client.quit();
      await redis.kill('SIGKILL');
      await send(failing, 'POST', '/v1/visited-sets/crawl/urls/check', bearer(tokens[0]!), {
        urls: [userinfo],
      });
      for (const one of [service, hasty]) {
        one.child.kill('SIGTERM');
        expect(await one.exit()).toBe(0);
      }
      const output = [service, hasty].map((one) => one.stdout() + one.stderr()).join('') + made.stderr;
      // The service has logged lines at the finest level.
      expect(output).toMatch(/"level":(10|20),/);
      expect(output).toContain('STORE_UNAVAILABLE');
      const secrets = {
        password,
        'user-password-77': 'user-password-77',
        ops: ops.slice(-43),
        second: second.key.slice(-43),
        wrong: wrong.slice(-43),
        ...Object.fromEntries(tokens.map((token, i) => [`token ${i}`, token.split('.')[2]!.slice(0, 40)])),
        ...Object.fromEntries(seeds.map((seed, i) => [`seed ${i}`, seed])),
        ...Object.fromEntries(
          seeds.map((seed, i) => [
            `seed ${i} in base64`,
            Buffer.from(seed, 'hex').toString('base64').slice(0, 20),
          ]),
        ),
        ...Object.fromEntries(digests.map((digest, i) => [`digest ${i}`, digest])),
      };
      const found = Object.entries(secrets).filter(([, secret]) => output.includes(secret));
      expect(found).toEqual([]);
    } finally {
      // ioredis would wait two seconds for a connection that has already ended.
      if (client.status !== 'end') client.disconnect();
      await issuer.stop();
      await redis.stop();
    }
  });
});
