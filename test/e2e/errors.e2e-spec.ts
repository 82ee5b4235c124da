import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeId, readMadeId } from '../../src/idempotency/made-id.js';
import { call, freshName, startApp, type TestApp } from '../support/app.js';
import { createApp, readConfig } from '../support/in-process.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { STORES } from './stores.js';

const FILTER = { type: 'counting', capacity: 1_000, errorRate: 0.01 };

describe.each(STORES)('errors over HTTP, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  it('refuses an operation id that it generated once its record may have expired', async () => {
    const name = freshName();
    await call(app, 'POST', '/v1/filters', { name, ...FILTER });
    const path = `/v1/filters/${name}/items/add`;
    const { headers } = await call(app, 'POST', path, { items: ['a'] });
    const { fingerprint } = readMadeId(headers.get('idempotency-key') ?? '') ?? { fingerprint: 0 };
    const old = makeId(fingerprint, Date.now() - 3_600_000);
    const answer = await call(app, 'POST', path, { items: ['a'] }, { 'idempotency-key': old });
    expect(answer).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_EXPIRED' } });
    expect(answer.headers.get('idempotency-key')).toBe(old);
  });
});

describe('a Redis store’s errors', () => {
  let redis: RedisServer;
  let app: TestApp;
  beforeAll(async () => {
    redis = await startRedis({ args: ['--maxmemory', '8mb', '--maxmemory-policy', 'noeviction'] });
    app = await startApp({ REDIS_URL: redis.url });
  });
  afterAll(async () => {
    await app.close();
    await redis.stop();
  });

  it('answers STORE_FULL if memory is too low for a filter', async () => {
    const big = { name: freshName(), type: 'counting', capacity: 10_000_000, errorRate: 0.01 };
    const answer = await call(app, 'POST', '/v1/filters', big);
    expect(answer).toMatchObject({ status: 507, body: { code: 'STORE_FULL' } });
    expect(await call(app, 'GET', `/v1/filters/${big.name}`)).toMatchObject({ status: 404 });
  });

  it('answers STORE_FULL if memory is too low for a sync, and opens a smaller one', async () => {
    const name = freshName();
    await call(app, 'POST', '/v1/filters', { name, ...FILTER });
    const path = `/v1/filters/${name}/syncs`;
    const answer = await call(app, 'POST', path, { capacity: 10_000_000 });
    expect(answer).toMatchObject({ status: 507, body: { code: 'STORE_FULL' } });
    expect((await call(app, 'GET', `/v1/filters/${name}`)).body).not.toHaveProperty('sync');
    expect(await call(app, 'POST', path, { capacity: 2_000 })).toMatchObject({ status: 201 });
    expect(await call(app, 'DELETE', `/v1/filters/${name}`)).toMatchObject({ status: 204 });
  });

  it('drops a filter while the server is at its memory limit, so that memory can be freed', async () => {
    const name = freshName();
    await call(app, 'POST', '/v1/filters', { name, ...FILTER });
    await command(redis.port, 'CONFIG', 'SET', 'maxmemory', '1mb');
    try {
      const add = await call(app, 'POST', `/v1/filters/${name}/items/add`, { items: ['a'] });
      expect(add).toMatchObject({ status: 507, body: { code: 'STORE_FULL' } });
      const check = await call(app, 'POST', `/v1/filters/${name}/items/check`, { items: ['a'] });
      expect(check).toMatchObject({ status: 200, body: { results: [false] } });
      expect(await call(app, 'DELETE', `/v1/filters/${name}`)).toMatchObject({ status: 204 });
      expect(await call(app, 'GET', `/v1/filters/${name}`)).toMatchObject({ status: 404 });
    } finally {
      await command(redis.port, 'CONFIG', 'SET', 'maxmemory', '8mb');
    }
  });

  it('says at /readyz that Redis refuses the credentials, and doesn’t show them', async () => {
    const env = { REDIS_URL: redis.url.replace('//', '//joe:topsecret@'), REDIS_TIMEOUT_MS: '2000' };
    const stranger = await startApp(env);
    try {
      // On a busy machine, the first attempts to connect may time out.
      await until('the service names the reason', async () => {
        const { status, body } = await call(stranger, 'GET', '/readyz');
        expect(status).toBe(503);
        return (body as { reason: string }).reason === 'Redis refuses the credentials';
      });
    } finally {
      await stranger.close();
    }
  });

  it('answers STORE_DATA_LOST, never "absent", when counters are gone', async () => {
    const name = freshName();
    await call(app, 'POST', '/v1/filters', { name, ...FILTER });
    await call(app, 'POST', `/v1/filters/${name}/items/add`, { items: ['a'] });
    const { generation } = (await call(app, 'GET', `/v1/filters/${name}`)).body as { generation: string };
    const script = `for _, key in ipairs(redis.call('KEYS', 'unseen:{${generation}*:cells')) do redis.call('DEL', key) end return 'OK'`;
    expect(await command(redis.port, 'EVAL', script, '0')).toContain('OK');
    for (const verb of ['add', 'check', 'remove', 'count']) {
      const answer = await call(app, 'POST', `/v1/filters/${name}/items/${verb}`, { items: ['a'] });
      expect(answer).toMatchObject({ status: 503, body: { code: 'STORE_DATA_LOST' } });
      expect(answer.headers.has('retry-after')).toBe(true);
    }
  });
});

describe('defects', () => {
  it('get an answer with the request id only', async () => {
    const app = await createApp(readConfig({ PORT: '0', LOG_LEVEL: 'silent', STORE: 'redis', AUTH: 'none' }));
    app
      .getHttpAdapter()
      .getInstance()
      .get('/boom', { config: { access: 'public' } }, () => {
        throw new Error('secret of the service');
      });
    await app.listen(0, '127.0.0.1');
    try {
      const response = await fetch(`${await app.getUrl()}/boom`);
      expect(response.status).toBe(500);
      expect(await response.json()).toEqual({
        type: 'about:blank',
        title: 'The service failed',
        status: 500,
        code: 'INTERNAL_ERROR',
        detail: 'the service failed because of a defect; its log has the cause under this requestId',
        requestId: response.headers.get('x-request-id'),
      });
    } finally {
      await app.close();
    }
  });
});

/** Redis's raw answer to one command. */
async function command(port: number, ...words: string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  socket.write(`*${words.length}\r\n${parts.join('')}`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return answer.toString();
}
