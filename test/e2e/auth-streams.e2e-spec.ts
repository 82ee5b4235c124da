import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { call, freshName, type TestApp } from '../support/app.js';
import { InFlight } from '../support/in-process.js';
import { makeKey, type TestKey } from '../support/credentials.js';
import { postHead, RawClient } from '../support/raw-client.js';
import { STORES } from './stores.js';

const BLOCK = 1_000;

/** One chunk of a text body, with a whole block of lines. */
function block(prefix: string): string {
  const text = Array.from({ length: BLOCK }, (_, i) => `${prefix}-${i}\n`).join('');
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

describe.each(STORES)('a stream whose key is revoked, $name store', ({ start }) => {
  let app: TestApp;
  let admin: TestKey;
  let items: string;

  beforeAll(async () => {
    app = await start({ AUTH: 'keys' });
    admin = await makeKey(app, 'admin');
    const body = { name: freshName(), type: 'counting', capacity: 100_000, errorRate: 1e-6 };
    await call(app, 'POST', '/v1/filters', body, admin.headers);
    items = `/v1/filters/${body.name}/items`;
  });
  afterAll(() => app.close());

  async function open(key: TestKey): Promise<RawClient> {
    const head = { ...key.headers, 'content-type': 'text/plain', 'transfer-encoding': 'chunked' };
    return (await RawClient.connect(app.port)).send(postHead(`${items}/add`, head));
  }

  async function revoke({ id }: TestKey): Promise<void> {
    const answer = await call(app, 'DELETE', `/v1/keys/${id}`, undefined, admin.headers);
    expect(answer).toMatchObject({ status: 204 });
  }

  async function seen(item: string): Promise<unknown> {
    return (await call(app, 'POST', `${items}/check`, { items: [item] }, admin.headers)).body;
  }

  it('counts toward its address again, as do later refusals', async () => {
    const key = await makeKey(app, 'write');
    const counted = jest.spyOn(app.app.get(InFlight), 'admit');
    const caller = () => counted.mock.lastCall?.[0].caller;
    const check = () => call(app, 'POST', `${items}/check`, { items: ['x'] }, key.headers);
    try {
      for (const known of [`address:`, `key:${key.id}`]) {
        expect(await check()).toMatchObject({ status: 200 });
        expect(caller()).toContain(known);
      }
      const stream = await open(key);
      await stream.send(block('counted')).receives(/"from":1,/);
      await revoke(key);
      await stream.send(block('late')).receives(/UNAUTHENTICATED/);
      stream.destroy();
      expect(await check()).toMatchObject({ status: 401 });
      expect(caller()).toContain('address:');
    } finally {
      counted.mockRestore();
    }
  });

  it('ends with a 401 error line at the next block, which isn’t executed', async () => {
    const key = await makeKey(app, 'write');
    const other = await makeKey(app, 'write');
    const client = await open(key);
    const untouched = await open(other);
    try {
      for (const stream of [client, untouched]) await stream.send(block('early')).receives(/"from":1,/);
      await revoke(key);
      client.send(block('late'));
      await client.receives(/\{"error":\{[^}]*"code":"UNAUTHENTICATED"[^}]*\},"line":1001\}/);
      expect(await seen('early-999')).toEqual({ results: [true] });
      expect(await seen('late-0')).toEqual({ results: [false] });
      await untouched.send(block('other')).receives(/"from":1001,/);
    } finally {
      client.destroy();
      untouched.destroy();
    }
  });

  it('gets 401 if no block was executed', async () => {
    const key = await makeKey(app, 'write');
    const client = await open(key);
    try {
      // Another request was answered after the head was sent, so the service has processed the head.
      await seen('nothing');
      await revoke(key);
      client.send(block('refused'));
      const answer = await client.answer();
      expect(answer).toMatchObject({ status: 401 });
      expect(answer.head).toContain('www-authenticate: bearer');
      expect(await seen('refused-0')).toEqual({ results: [false] });
    } finally {
      client.destroy();
    }
  });

  it('leaves nothing of an unfinished import', async () => {
    const name = items.split('/')[3] as string;
    const exported = await fetch(`${app.url}/v1/filters/${name}/export`, { headers: admin.headers });
    const file = Buffer.from(await exported.arrayBuffer());
    const key = await makeKey(app, 'admin');
    const copy = freshName();
    const head = {
      ...key.headers,
      'content-type': 'application/octet-stream',
      'content-length': file.length,
    };
    const client = await RawClient.connect(app.port);
    try {
      client.send(postHead(`/v1/filters/import?name=${copy}`, head));
      client.send(file.subarray(0, file.length / 2));
      // Another request was answered after the head was sent, so the service has processed the head.
      await seen('nothing');
      await revoke(key);
      client.send(file.subarray(file.length / 2));
      expect(await client.answer()).toMatchObject({ status: 401 });
      expect(await call(app, 'GET', `/v1/filters/${copy}`, undefined, admin.headers)).toMatchObject({
        status: 404,
      });
    } finally {
      client.destroy();
    }
  });
});
