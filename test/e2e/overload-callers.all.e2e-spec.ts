import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, startApp, type Answer, type TestApp } from '../support/app.js';
import { bearer, makeKey, type TestKey } from '../support/credentials.js';
import { jsonPost, postHead, RawClient } from '../support/raw-client.js';
import { until } from '../support/until.js';
import { createFilter, inFlight, untilIdle } from './in-flight.js';

const KIB = 1024;
const MAX_BODY_BYTES = 128 * KIB;
/** Many times more than the limits below admit. */
const CONNECTIONS = 60;
/** The second caller's sequential requests. */
const MODEST = 40;

const JSON_TYPE = { 'content-type': 'application/json' };
const CHUNKED = { 'transfer-encoding': 'chunked' };
const TEXT_TYPE = { 'content-type': 'text/plain', ...CHUNKED };
const EXPORT_TYPE = { 'content-type': 'application/vnd.unseen.filter', ...CHUNKED };

const clients: RawClient[] = [];
let app: TestApp;
let greedy: TestKey;
let other: TestKey;
let name: string;
let items: string;

async function open(reads = true): Promise<RawClient> {
  const client = await RawClient.connect(app.port, reads);
  clients.push(client);
  return client;
}

const get = (path: string, headers: Readonly<Record<string, string>>) =>
  postHead(path, headers).replace('POST', 'GET');

/** One of the second caller's calls, on a new connection. */
type Modest = () => Promise<Answer>;

const check: Modest = () => call(app, 'POST', `${items}/check`, { items: ['x'] }, other.headers);

/**
 * Expects the service to answer each of the second caller's calls, whatever the first caller does. Runs `between`
 * before each call.
 */
async function expectServed(ask: Modest, between = (): void => undefined): Promise<void> {
  const statuses: number[] = [];
  for (let i = 0; i < MODEST; i++) {
    between();
    statuses.push((await ask()).status);
  }
  expect(statuses).toEqual(statuses.map(() => 200));
}

/** Opens connections that start with `begin`, and sends `more` on each before each of the second caller's calls. */
async function besides(
  ask: Modest,
  begin: (client: RawClient) => void,
  more?: string,
  reads = true,
): Promise<void> {
  for (let i = 0; i < CONNECTIONS; i++) begin(await open(reads));
  await expectServed(ask, () => {
    for (const { socket } of clients) if (more !== undefined && socket.writable) socket.write(more);
  });
}

describe('a hostile caller doesn’t keep the service from another', () => {
  beforeAll(async () => {
    app = await startApp({
      AUTH: 'keys',
      MAX_REQUESTS_IN_FLIGHT: '8',
      MAX_STREAMS: '4',
      MAX_BODY_BYTES: String(MAX_BODY_BYTES),
      MAX_BYTES_IN_FLIGHT: String(4 * MAX_BODY_BYTES),
    });
    greedy = await makeKey(app, 'admin');
    other = await makeKey(app, 'admin');
    name = freshName();
    const filter = { name, type: 'counting', capacity: 1_000_000, errorRate: 0.001 };
    expect(await call(app, 'POST', '/v1/filters', filter, greedy.headers)).toMatchObject({ status: 201 });
    items = `/v1/filters/${name}/items`;
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.destroy();
    await untilIdle(app);
  });
  afterAll(() => app.close());

  const head = (headers: Readonly<Record<string, string | number>>) =>
    postHead(`${items}/add`, { ...greedy.headers, ...headers });

  it('JSON bodies that trickle', async () => {
    await besides(check, (client) => client.send(head({ ...JSON_TYPE, 'content-length': 10_000 }), '{'), ' ');
  });

  it('JSON bodies with wrong or no credentials that trickle', async () => {
    for (const headers of [bearer('unseen_0000000000000000_wrong'), {}]) {
      const wrong = postHead(`${items}/add`, { ...headers, ...JSON_TYPE, 'content-length': 10_000 });
      await besides(check, (client) => client.send(wrong, '{'), ' ');
      for (const client of clients.splice(0)) client.destroy();
    }
  });

  it('bodies that wait for 100-continue and never arrive', async () => {
    const asking = head({ ...JSON_TYPE, 'content-length': 10_000, expect: '100-continue' });
    await besides(check, (client) => client.send(asking));
  });

  it('bodies that are announced and never arrive', async () => {
    const large = head({ ...JSON_TYPE, 'content-length': MAX_BODY_BYTES });
    await besides(check, (client) => client.send(large));
  });

  it('bodies that lack their last byte', async () => {
    const large = head({ ...JSON_TYPE, 'content-length': MAX_BODY_BYTES });
    await besides(check, (client) => client.send(large, ' '.repeat(MAX_BODY_BYTES - 1)));
  });

  it.each([
    ['lines', 'add', TEXT_TYPE],
    ['imports', 'import', EXPORT_TYPE],
  ])('streams of %s that trickle', async (_, route, headers) => {
    const path = route === 'import' ? '/v1/filters/import' : `${items}/add?results=none`;
    const text = { ...other.headers, 'content-type': 'text/plain' };
    const stream = () => call(app, 'POST', `${items}/add?results=none`, 'a\nb\n', text);
    const slow = postHead(path, { ...greedy.headers, ...headers });
    await besides(stream, (client) => client.send(slow), '1\r\nx\r\n');
  });

  it('streams that hold as many lines as they can', async () => {
    const lines = `${'x'.repeat(8_000)}\n`.repeat(15);
    const chunk = `${lines.length.toString(16)}\r\n${lines}\r\n`;
    await besides(check, (client) => client.send(head(TEXT_TYPE), chunk), chunk);
  });

  it('unread answers: pages, lists, calls, and exports, pipelined', async () => {
    const { headers } = greedy;
    const page = get('/docs/swagger-ui-bundle.js', {});
    const list = get('/v1/filters', headers);
    const whole = JSON.stringify({ items: Array.from({ length: 8_000 }, (_, i) => `${i}`) });
    const call = head({ ...JSON_TYPE, 'content-length': whole.length }) + whole;
    const file = get(`/v1/filters/${name}/%65xport`, headers);
    for (const request of [page, list, call, file]) {
      await besides(check, (client) => client.send(request.repeat(20)), undefined, false);
      for (const client of clients.splice(0)) client.destroy();
      await untilIdle(app);
    }
  });

  it('as much work as the limits allow', async () => {
    const batch = { items: Array.from({ length: 5_000 }, (_, i) => `item ${i}`) };
    const body = JSON.stringify(batch);
    const request = head({ ...JSON_TYPE, 'content-length': body.length }) + body;
    const progress = { done: false };
    const senders = Array.from({ length: 16 }, async () => {
      const client = await open();
      while (!progress.done) await client.send(request).answer();
    });
    try {
      await expectServed(check);
    } finally {
      progress.done = true;
      await Promise.all(senders);
    }
  });
});

describe('connections at their limit', () => {
  const MAX_CONNECTIONS = 20;

  beforeAll(async () => {
    app = await startApp({ MAX_CONNECTIONS: String(MAX_CONNECTIONS) });
    other = { id: '', key: '', headers: bearer('none is asked for') };
    items = await createFilter(app);
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.destroy();
  });
  afterAll(() => app.close());

  it.each([
    ['idle ones', ''],
    ['ones with half of the headers', 'POST /v1/filters HTTP/1.1\r\nhost: 127.0'],
    ['ones whose body does not arrive', postHead('/v1/filters', { ...JSON_TYPE, 'content-length': 99 })],
    ['ones whose client does not read the answer', get('/docs/swagger-ui-bundle.js', {}).repeat(9)],
  ])('are closed for new ones: %s', async (_, sent) => {
    for (let i = 0; i < 3 * MAX_CONNECTIONS; i++) {
      const client = await open(false);
      if (sent !== '') client.send(sent);
    }
    await expectServed(check);
  });

  it('that have requests in progress stay, as does the newest, and the one idle longest is closed', async () => {
    const stream = await open();
    const lines = { ...TEXT_TYPE };
    stream.send(postHead(`${items}/add`, lines), '2\r\na\n\r\n');
    await until('the stream is in flight', async () => inFlight(app)['streams'] === 1);
    const first = await open();
    const rest: RawClient[] = [];
    for (let i = 2; i < MAX_CONNECTIONS; i++) rest.push(await open());
    const last = await open();
    expect(await first.closed()).toBe('');
    last.send(jsonPost(`${items}/check`, { items: ['a'] }));
    expect(await last.answer()).toMatchObject({ status: 200 });
    stream.send('0\r\n\r\n');
    await stream.receives(/"done":true/);
    expect(rest.filter(({ socket }) => socket.destroyed)).toHaveLength(0);
  });
});
