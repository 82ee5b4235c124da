import { afterEach, describe, expect, it } from '@jest/globals';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { makeKey } from '../support/credentials.js';
import { startRedis } from '../support/redis-server.js';
import { RespClient } from '../support/resp-client.js';
import { until } from '../support/until.js';
import { STORES } from './stores.js';

/** Longer than an instance relies on the store's answer that no key exists. */
const EXPIRED_MS = 3_000;
/** Larger than any command may be before the client has sent a key. */
const LARGE = 'x'.repeat(20_000);
const LARGE_REPLY = `$${LARGE.length}\r\n${LARGE}\r\n`;

const NOAUTH = '-NOAUTH send a valid API key or token with AUTH or HELLO\r\n';
const TOO_LARGE = '-ERR Protocol error: an argument may have at most 16384 bytes here, not 20000\r\n';
const PONG = '+PONG\r\n';
const OK = '+OK\r\n';

const clients: RespClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});

async function connect(app: TestApp): Promise<RespClient> {
  const client = await RespClient.connect(app.respPort);
  clients.push(client);
  return client;
}

describe.each(STORES)('a connection to a service without keys, $name store', ({ start }) => {
  it('goes on after the store’s answer that no key exists has expired', async () => {
    const app = await start({ RESP_PORT: '0' });
    try {
      const client = await connect(app);
      expect(await client.call('PING')).toBe(PONG);
      for (let n = 0; n < 2; n++) {
        app.advance(EXPIRED_MS);
        expect(await client.call('ECHO', LARGE)).toBe(LARGE_REPLY);
      }
      app.advance(EXPIRED_MS);
      expect(await (await connect(app)).call('ECHO', LARGE)).toBe(LARGE_REPLY);
    } finally {
      await app.close();
    }
  });

  it('needs a key once the first key exists, and then has the limits of clients without one', async () => {
    const app = await start({ RESP_PORT: '0' });
    try {
      const [client, other] = [await connect(app), await connect(app)];
      const name = freshName();
      expect(await client.call('CF.RESERVE', name, '1000')).toBe(OK);
      expect(await other.call('ECHO', LARGE)).toBe(LARGE_REPLY);
      const { key } = await makeKey(app, 'read');
      expect(await client.pipeline([['CF.EXISTS', name, 'a'], ['PING'], ['NO.SUCH']])).toEqual([
        ...[NOAUTH, NOAUTH, NOAUTH],
      ]);
      expect(
        await client.pipeline([
          ['AUTH', key],
          ['CF.EXISTS', name, 'a'],
        ]),
      ).toEqual([OK, ':0\r\n']);
      expect(await client.call('ECHO', LARGE)).toBe(LARGE_REPLY);
      expect(await other.call('PING')).toBe(NOAUTH);
      expect(await other.call('ECHO', LARGE)).toBe(TOO_LARGE);
      await other.closed();
    } finally {
      await app.close();
    }
  });
});

describe('a connection to a service without keys', () => {
  it('goes on while Redis does not say whether a key exists', async () => {
    const redis = await startRedis();
    const app = await startApp({ REDIS_URL: redis.url, RESP_PORT: '0', REDIS_TIMEOUT_MS: '1000' });
    try {
      const client = await connect(app);
      // On a busy machine, Redis may take longer than that to say it.
      await until('Redis has said that no key exists', async () => (await client.call('PING')) === PONG);
      await redis.stop();
      app.advance(EXPIRED_MS);
      expect(await client.call('ECHO', LARGE)).toBe(LARGE_REPLY);
      expect(await client.call('TYPE', freshName())).toMatch(/^-STORE_UNAVAILABLE /);
      expect(await client.call('PING')).toBe(PONG);
    } finally {
      await app.close();
      await redis.stop();
    }
  });

  it('needs a key that another instance has created', async () => {
    const redis = await startRedis();
    const [one, other] = [await startOn(redis.url), await startOn(redis.url)];
    try {
      const client = await connect(one);
      expect(await client.call('PING')).toBe(PONG);
      const { key } = await makeKey(other, 'read');
      one.advance(EXPIRED_MS);
      expect(await client.call('PING')).toBe(NOAUTH);
      expect(await client.call('AUTH', key)).toBe(OK);
      expect(await client.call('PING')).toBe(PONG);
    } finally {
      await one.close();
      await other.close();
      await redis.stop();
    }
  });
});

function startOn(url: string): Promise<TestApp> {
  return startApp({ REDIS_URL: url, RESP_PORT: '0' });
}
