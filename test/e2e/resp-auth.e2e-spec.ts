import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { call, freshName, type TestApp } from '../support/app.js';
import { makeKey, type TestKey } from '../support/credentials.js';
import { RespClient } from '../support/resp-client.js';
import { startProcess, type ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';
import { STORES } from './stores.js';

const NOAUTH = '-NOAUTH send a valid API key or token with AUTH or HELLO\r\n';
const WRONGPASS = '-WRONGPASS the key is not valid; send a valid API key or token\r\n';
const PONG = '+PONG\r\n';
const OK = '+OK\r\n';

describe.each(STORES)('access over the Redis protocol, $name store', ({ start }) => {
  let app: TestApp;
  let [reader, writer, admin, tenant] = [] as unknown as [TestKey, TestKey, TestKey, TestKey];
  const clients: RespClient[] = [];
  beforeAll(async () => {
    app = await start({ RESP_PORT: '0', AUTH: 'keys' });
    [reader, writer, admin] = [
      await makeKey(app, 'read'),
      await makeKey(app, 'write'),
      await makeKey(app, 'admin'),
    ];
    tenant = await makeKey(app, 'admin', { prefix: 'tenant-' });
  });
  afterAll(async () => {
    for (const client of clients) client.destroy();
    await app.close();
  });

  const connect = async (key?: TestKey): Promise<RespClient> => {
    const client = await RespClient.connect(app.respPort);
    clients.push(client);
    if (key) expect(await client.call('AUTH', key.key)).toBe(OK);
    return client;
  };

  it('needs a key for every command except those that send a key or end the connection', async () => {
    const client = await connect();
    const replies = await client.pipeline([
      ['PING'],
      ['CF.EXISTS', 'x', 'a'],
      ['CF.EXISTS', 'x', 'b'],
      ['HELLO', '3'],
      ['GET', 'x'],
      ['NO.SUCH'],
      ['INFO'],
    ]);
    expect(replies).toEqual(replies.map(() => NOAUTH));
    expect(await client.call('RESET')).toBe('+RESET\r\n');
    expect(await client.call('QUIT')).toBe(OK);
  });

  it('takes a key by AUTH with and without a user, and by HELLO', async () => {
    const client = await connect();
    expect(await client.pipeline([['AUTH', reader.key], ['PING']])).toEqual([OK, PONG]);
    expect(await client.pipeline([['RESET'], ['PING']])).toEqual(['+RESET\r\n', NOAUTH]);
    expect(await client.pipeline([['AUTH', 'default', reader.key], ['PING']])).toEqual([OK, PONG]);
    const other = await connect();
    const [hello, pong] = await other.pipeline([
      ['HELLO', '3', 'AUTH', 'any', reader.key, 'SETNAME', 'c'],
      ['PING'],
    ]);
    expect(hello).toMatch(/^%7\r\n/);
    expect(pong).toBe(PONG);
    expect(await other.call('CLIENT', 'GETNAME')).toBe('$1\r\nc\r\n');
  });

  it('works with a client’s password', async () => {
    const redis = new Redis(app.respPort!, '127.0.0.1', { password: admin.key });
    try {
      expect(await redis.ping()).toBe('PONG');
    } finally {
      redis.disconnect();
    }
  });

  it('refuses a wrong key, and keeps the key and the protocol that the connection has', async () => {
    const client = await connect(reader);
    expect(
      await client.pipeline([
        ['AUTH', 'wrong'],
        ['HELLO', '3', 'AUTH', 'x', `${reader.key}x`],
        ['AUTH', 'a b'],
        ['PING'],
      ]),
    ).toEqual([WRONGPASS, WRONGPASS, WRONGPASS, PONG]);
    expect(await client.call('CLIENT', 'GETNAME')).toBe('$-1\r\n');
  });

  it('checks the key again for each run, and never joins commands across AUTH', async () => {
    const name = freshName();
    const own = await makeKey(app, 'write');
    const owner = await connect(admin);
    expect(await owner.call('CF.RESERVE', name, '1000')).toBe(OK);
    const client = await connect(own);
    expect(
      await client.pipeline([
        ['CF.ADD', name, 'a'],
        ['AUTH', reader.key],
        ['CF.ADD', name, 'b'],
        ['AUTH', own.key],
        ['CF.ADD', name, 'c'],
      ]),
    ).toEqual([
      ':1\r\n',
      OK,
      '-NOPERM CF.ADD needs the scope "write"; the credentials have "read"\r\n',
      OK,
      ':1\r\n',
    ]);
    await call(app, 'DELETE', `/v1/keys/${own.id}`, undefined, admin.headers);
    expect(await client.pipeline([['CF.ADD', name, 'd'], ['PING']])).toEqual([NOAUTH, NOAUTH]);
    expect(await owner.call('CF.MEXISTS', name, 'a', 'b', 'c', 'd')).toBe('*4\r\n:1\r\n:0\r\n:1\r\n:0\r\n');
  });

  it('requires the same scopes as the equivalent HTTP routes', async () => {
    const name = freshName();
    const [read, write, all] = [await connect(reader), await connect(writer), await connect(admin)];
    expect(await all.call('CF.RESERVE', name, '1000')).toBe(OK);
    for (const args of [
      ['CF.EXISTS', name, 'a'],
      ['CF.COUNT', name, 'a'],
      ['CF.INFO', name],
      ['EXISTS', name],
      ['TYPE', name],
    ])
      expect(await read.call(...args)).not.toMatch(/^-/);
    for (const args of [
      ['CF.ADD', name, 'a'],
      ['CF.DEL', name, 'a'],
    ]) {
      expect(await read.call(...args)).toMatch(/^-NOPERM .* needs the scope "write"/);
      expect(await write.call(...args)).toBe(':1\r\n');
    }
    const set = freshName();
    const headers = { authorization: `Bearer ${admin.key}` };
    await call(app, 'POST', '/v1/visited-sets', { name: set, capacity: 100 }, headers);
    const url = 'https://a.example/';
    expect(await read.call('UNSEEN.CHECK', set, 'URLS', url)).toBe('*1\r\n$6\r\nunseen\r\n');
    for (const args of [
      ['UNSEEN.DISCOVER', set, 'URLS', url],
      ['UNSEEN.VISIT', set, 'URLS', url],
      ['UNSEEN.FORGET', set, 'URLS', 'https://b.example/'],
      ['UNSEEN.LEASE', set],
      ['UNSEEN.ACK', set, 'IDS', 'x'],
      ['UNSEEN.RELEASE', set, 'IDS', 'x'],
      ['UNSEEN.EXTEND', set, 'SECONDS', '60', 'IDS', 'x'],
    ]) {
      expect(await read.call(...args)).toMatch(/^-NOPERM .* needs the scope "write"/);
      expect(await write.call(...args)).toMatch(/^\*1\r\n/);
    }
    for (const args of [
      ['CF.RESERVE', freshName(), '1000'],
      ['DEL', name],
      ['UNLINK', name],
    ]) {
      expect(await write.call(...args)).toMatch(/^-NOPERM .* needs the scope "admin"/);
    }
  });

  it('hides names outside a key’s prefix, and creates none', async () => {
    const name = freshName();
    const [all, own] = [await connect(admin), await connect(tenant)];
    expect(await all.call('CF.RESERVE', name, '1000')).toBe(OK);
    const absent = (target: string): string =>
      `-ERR not found: filter "${target}" does not exist; check the name, or create the filter\r\n`;
    expect(await own.call('CF.ADD', name, 'a')).toBe(absent(name));
    expect(await own.call('CF.ADD', `${name}x`, 'a')).toBe(absent(`${name}x`));
    // A hidden name's type is also hidden.
    expect(await own.call('BF.ADD', name, 'a')).toBe(absent(name));
    for (const args of [['UNSEEN.LEASE', name] as const, ['UNSEEN.ACK', name, 'IDS', 'x'] as const])
      expect(await own.call(...args)).toMatch(/^-ERR not found: /);
    expect(
      await own.pipeline([
        ['EXISTS', name],
        ['TYPE', name],
        ['DEL', name],
      ]),
    ).toEqual([':0\r\n', '+none\r\n', ':0\r\n']);
    expect(await own.call('CF.RESERVE', freshName(), '1000')).toBe(
      '-NOPERM the credentials allow only names that begin with "tenant-"\r\n',
    );
    const mine = `tenant-${freshName()}`;
    expect(
      await own.pipeline([
        ['CF.RESERVE', mine, '1000'],
        ['CF.ADD', mine, 'a'],
        ['DEL', mine],
      ]),
    ).toEqual([OK, ':1\r\n', ':1\r\n']);
    expect(await all.call('EXISTS', name)).toBe(':1\r\n');
  });

  it('bounds the commands of clients without a key', async () => {
    const client = await connect();
    expect(await client.send('*11\r\n').closed()).toEqual([
      '-ERR Protocol error: a command may have at most 10 arguments here, not 11\r\n',
    ]);
    const other = await connect();
    expect(await other.send('*2\r\n$4\r\nAUTH\r\n$16385\r\n').closed()).toEqual([
      '-ERR Protocol error: an argument may have at most 16384 bytes here, not 16385\r\n',
    ]);
    const known = await connect(reader);
    expect(await known.call('ECHO', 'x'.repeat(20_000))).toHaveLength(20_000 + '$20000\r\n\r\n'.length);
  });
});

describe.each(STORES)('limits over the Redis protocol, $name store', ({ start }) => {
  it('counts each command against the rate limit, and lets a run’s first commands pass', async () => {
    const app = await start({ RESP_PORT: '0', RATE_LIMIT: '40' });
    try {
      const client = await RespClient.connect(app.respPort);
      const name = freshName();
      await call(app, 'POST', '/v1/filters', {
        name,
        type: 'counting',
        semantics: 'multiset',
        capacity: 1_000,
        errorRate: 0.01,
      });
      const replies = await client.pipeline(
        Array.from({ length: 400 }, (_, i) => ['CF.ADD', name, `item ${i}`]),
      );
      const words = replies.map((reply) => reply.split(' ')[0]);
      // The first commands pass and the others don't, unless the next second begins during the run.
      expect(words[0]).toBe(':1\r\n');
      expect(new Set(words)).toEqual(new Set([':1\r\n', '-RATE_LIMITED']));
      expect(await client.call('PING')).toBe(PONG);
      client.destroy();
    } finally {
      await app.close();
    }
  });

  it('applies a key’s quota', async () => {
    const app = await start({ RESP_PORT: '0', AUTH: 'keys' });
    try {
      const admin = await makeKey(app, 'admin');
      const { body } = await call(
        app,
        'POST',
        '/v1/keys',
        { name: 'tenant', scopes: ['admin'], prefix: 'tenant-', maxFilters: 1 },
        admin.headers,
      );
      const client = await RespClient.connect(app.respPort);
      expect(await client.call('AUTH', (body as { key: string }).key)).toBe(OK);
      expect(await client.call('CF.RESERVE', 'tenant-1', '1000')).toBe(OK);
      expect(await client.call('BF.RESERVE', 'tenant-2', '0.01', '1000')).toMatch(/^-QUOTA_EXCEEDED /);
      client.destroy();
    } finally {
      await app.close();
    }
  });
});

describe('the Redis protocol’s audit log', () => {
  let service: ServiceProcess;
  beforeAll(async () => {
    service = await startProcess({ RESP_PORT: '0', LOG_LEVEL: 'error' });
  });
  afterAll(() => service.clean());

  it('names each admin command, its target, and its outcome', async () => {
    let port = NaN;
    await until('the service names its port', async () => {
      port = Number(/The Redis protocol is open on port (\d+)\n/.exec(service.stdout())?.[1]);
      return port > 0;
    });
    const client = await RespClient.connect(port);
    expect(
      await client.pipeline([
        ['CF.RESERVE', 'a', '1000'],
        ['CF.ADD', 'a', 'x'],
        ['DEL', 'a', 'b'],
        ['CF.RESERVE', 'a', '0'],
      ]),
    ).toEqual([OK, ':1\r\n', ':1\r\n', expect.stringMatching(/^-ERR capacity/)]);
    client.destroy();
    const lines = (): Record<string, unknown>[] =>
      service
        .stdout()
        .split('\n')
        .filter((line) => line.startsWith('{') && line.endsWith('}'))
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    await until('the log has four lines', async () => lines().length >= 4);
    expect(
      lines().map(({ audit, method, route, target, status }) => [audit, method, route, target, status]),
    ).toEqual([
      [true, 'RESP', 'CF.RESERVE', 'a', 200],
      [true, 'RESP', 'DEL', 'a', 200],
      [true, 'RESP', 'DEL', 'b', 200],
      [true, 'RESP', 'CF.RESERVE', 'a', 400],
    ]);
  });
});
