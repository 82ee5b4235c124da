import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { call, freshName, startApp, type TestApp } from '../support/app.js';
import { InFlight, RequestPermit } from '../support/in-process.js';
import { makeKey } from '../support/credentials.js';
import { postHead, RawClient } from '../support/raw-client.js';
import { until } from '../support/until.js';
import { createFilter, untilIdle } from './in-flight.js';

const TEXT_TYPE = { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' };
const MAX_STREAMS = 3;
const REFUSED = {
  status: 503,
  body: expect.stringContaining(
    'the service takes at most 3 streamed bodies and exports at a time (MAX_STREAMS), and reserves part of that for other callers',
  ),
};

const clients: RawClient[] = [];
const held: RequestPermit[] = [];
let app: TestApp;
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  for (const permit of held.splice(0)) permit.over();
  await untilIdle(app);
  await app.close();
});

async function post(path: string, headers: object): Promise<RawClient> {
  const client = await RawClient.connect(app.port);
  clients.push(client);
  return client.send(postHead(path, { ...TEXT_TYPE, ...headers }));
}

async function untilStreams(count: number): Promise<void> {
  const counts = app.app.get(InFlight);
  await until(`${count} streams are in flight`, async () => counts.count('streams') === count);
}

describe('streams, with keys', () => {
  it('from one caller take at most half of the limit, so others get in', async () => {
    app = await startApp({ AUTH: 'keys', MAX_STREAMS: String(MAX_STREAMS) });
    const greedy = (await makeKey(app, 'admin')).headers;
    const other = (await makeKey(app, 'admin')).headers;
    const name = freshName();
    const filter = { name, type: 'counting', capacity: 1_000, errorRate: 0.01 };
    expect(await call(app, 'POST', '/v1/filters', filter, greedy)).toMatchObject({ status: 201 });
    const path = `/v1/filters/${name}/items/add`;
    const held = [await post(path, greedy), await post(path, greedy)];
    await untilStreams(2);

    const refused = await (await post(path, greedy)).answer();
    expect(refused).toMatchObject(REFUSED);
    expect(refused.head).toContain('retry-after: 1');
    expect(await call(app, 'GET', `/v1/filters/${name}/export`, undefined, greedy)).toMatchObject({
      status: 503,
    });
    expect(app.app.get(InFlight).refused('streams')).toBe(2);
    expect(await call(app, 'GET', '/v1/filters', undefined, greedy)).toMatchObject({ status: 200 });
    await (await post(path, other)).send('2\r\na\n\r\n0\r\n\r\n').receives(/"done":true/);

    held[0]?.destroy();
    await untilStreams(1);
    await (await post(path, greedy)).send('2\r\nb\n\r\n0\r\n\r\n').receives(/"done":true/);
  });
});

describe('streams, without keys', () => {
  it('from this machine, where all callers share an address, may take the whole limit', async () => {
    app = await startApp({ MAX_STREAMS: String(MAX_STREAMS) });
    const path = `${await createFilter(app)}/add`;
    for (let i = 0; i < MAX_STREAMS; i++) await post(path, {});
    await untilStreams(MAX_STREAMS);
    expect(await (await post(path, {})).answer()).toMatchObject({
      status: 503,
      body: expect.stringContaining(
        'at most 3 streamed bodies and exports at a time (MAX_STREAMS); retry later"',
      ),
    });
  });
});

describe('a request’s class', () => {
  beforeEach(async () => {
    app = await startApp({ MAX_STREAMS: '1' });
    const permit = app.app.get(InFlight).admit({ kind: 'streams', bytes: 0, caller: undefined });
    if (permit instanceof RequestPermit) held.push(permit);
    for (const name of ['export', 'a']) {
      const filter = { name, type: 'counting', capacity: 1_000, errorRate: 0.01 };
      expect(await call(app, 'POST', '/v1/filters', filter)).toMatchObject({ status: 201 });
    }
  });

  it.each(['/v1/filters/a/export', '/v1/filters/a/%65xport', '/v1/filters/%61/expor%74?x=1'])(
    'follows its route, for any encoding of the path: %s is a stream',
    async (path) => {
      expect(await call(app, 'GET', path)).toMatchObject({ status: 503, body: { code: 'OVERLOADED' } });
    },
  );

  it.each(['/v1/filters/export', '/v1/filters/export?x=/a/export'])('%s isn’t a stream', async (path) => {
    expect(await call(app, 'GET', path)).toMatchObject({ status: 200, body: { name: 'export' } });
  });

  it('%68ealthz is a probe', async () => {
    const inFlight = app.app.get(InFlight);
    for (let i = 0; i < inFlight.bounds.requests; i++) {
      const permit = inFlight.admit({ kind: 'requests', bytes: 0, caller: undefined });
      if (permit instanceof RequestPermit) held.push(permit);
    }
    expect(await call(app, 'GET', '/v1/filters/a')).toMatchObject({ status: 503 });
    expect(await call(app, 'GET', '/%68ealthz')).toMatchObject({ status: 200 });
  });
});
