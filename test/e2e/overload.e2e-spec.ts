import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { call, startApp, type TestApp } from '../support/app.js';
import { InFlight, RequestPermit } from '../support/in-process.js';
import { jsonPost, postHead, RawClient } from '../support/raw-client.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { connections, createFilter, inFlight, untilIdle } from './in-flight.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const TEXT_TYPE = { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' };

describe('a service at its limits', () => {
  const bounds = {
    MAX_REQUESTS_IN_FLIGHT: '3',
    MAX_STREAMS: '2',
    MAX_BODY_BYTES: '1024',
    MAX_BYTES_IN_FLIGHT: '2000',
  };
  const clients: RawClient[] = [];
  const slots: RequestPermit[] = [];
  let app: TestApp;
  let items: string;

  beforeAll(async () => {
    app = await startApp(bounds);
    items = await createFilter(app);
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.destroy();
    for (const permit of slots.splice(0)) permit.over();
    await untilIdle(app);
  });
  afterAll(() => app.close());

  async function client(): Promise<RawClient> {
    const made = await RawClient.connect(app.port);
    clients.push(made);
    return made;
  }

  /** Takes permits of `bytes` bytes each, as running requests do. */
  function occupy(count: number, bytes = 0): RequestPermit[] {
    const taken: RequestPermit[] = [];
    for (let i = 0; i < count; i++) {
      const permit = app.app.get(InFlight).admit({ kind: 'requests', bytes, caller: undefined });
      if (!(permit instanceof RequestPermit)) throw new Error(`refused by ${permit.bound}`);
      slots.push(permit);
      taken.push(permit);
      expect(permit.cover(bytes)).toBeUndefined();
    }
    return taken;
  }

  /** Starts requests without sending their bodies. */
  async function hold(count: number, headers: Record<string, string | number>): Promise<RawClient[]> {
    // A request that waits for its body soon gives its place back, maybe before this test looks.
    const admit = jest.spyOn(app.app.get(InFlight), 'admit');
    const held: RawClient[] = [];
    for (let i = 0; i < count; i++) held.push((await client()).send(postHead(`${items}/add`, headers)));
    await until('the service has judged the requests', async () => admit.mock.calls.length === count);
    for (const { value } of admit.mock.results) expect(value).toBeInstanceOf(RequestPermit);
    admit.mockRestore();
    return held;
  }

  /** Waits until requests without a body have returned their permits. */
  async function untilParked(): Promise<void> {
    await until('no request is in flight', async () => inFlight(app)['requests'] === 0);
  }

  it('refuses on the head alone, with Retry-After, and keeps the connection', async () => {
    const [held] = occupy(3);
    const body = '{"items":["refused"]}';
    const refused = await client();
    refused.send(postHead(`${items}/add`, { ...JSON_TYPE, 'content-length': body.length }));
    const answer = await refused.answer();
    expect(answer.head).toMatch(/^http\/1\.1 503 /);
    expect(answer.head).toContain('retry-after: 1\r\n');
    expect(answer.head).toContain('content-type: application/problem+json');
    expect(answer.head).toContain('x-content-type-options: nosniff');
    expect(answer.head).not.toContain('connection: close');
    const problem = JSON.parse(answer.body) as Record<string, string>;
    expect(problem).toMatchObject({
      code: 'OVERLOADED',
      status: 503,
      detail: 'the service takes at most 3 requests at a time (MAX_REQUESTS_IN_FLIGHT); retry later',
    });
    expect(answer.head).toContain(`x-request-id: ${problem['requestId']?.toLowerCase()}`);

    held?.over();
    // The refused body arrives late. The next request on the connection is admitted and finds that nothing was added.
    refused.send(body, jsonPost(`${items}/check`, { items: ['refused'] }));
    expect(await refused.answer()).toMatchObject({ status: 200, body: '{"results":[false]}' });
  });

  it('answers probes, and shows requests in flight and refusals', async () => {
    occupy(3, 100);
    await hold(2, TEXT_TYPE);
    const before = app.app.get(InFlight).refused('requests');
    expect(await call(app, 'GET', '/v1/filters')).toMatchObject({
      status: 503,
      body: { code: 'OVERLOADED' },
    });
    expect(await call(app, 'GET', '/healthz')).toMatchObject({ status: 200 });
    expect(await call(app, 'GET', '/readyz')).toMatchObject({ status: 200 });
    const metrics = await (await fetch(`${app.url}/metrics`)).text();
    expect(metrics.split('\n')).toEqual(
      expect.arrayContaining([
        'unseen_in_flight_requests{kind="requests"} 3',
        'unseen_in_flight_requests{kind="streams"} 2',
        'unseen_in_flight_requests{kind="probes"} 1',
        'unseen_max_in_flight_requests{kind="requests"} 3',
        'unseen_max_in_flight_requests{kind="streams"} 2',
        'unseen_in_flight_bytes 300',
        'unseen_waiting_turns 0',
        'unseen_unread_answer_bytes 0',
        `unseen_refused_requests_total{bound="requests"} ${before + 1}`,
      ]),
    );
  });

  it('reserves nothing for announced bytes, and refuses a head that announces more than is free', async () => {
    for (let i = 0; i < 3; i++) await hold(1, { ...JSON_TYPE, 'content-length': 1_000 });
    await untilParked();
    expect(await call(app, 'POST', `${items}/check`, { items: ['x'] })).toMatchObject({ status: 200 });
    occupy(2, 1_000);
    const refused = (await client()).send(postHead(`${items}/add`, { ...JSON_TYPE, 'content-length': 1 }));
    expect(JSON.parse((await refused.answer()).body)).toMatchObject({
      code: 'OVERLOADED',
      detail: 'the service takes at most 2000 bytes of bodies at a time (MAX_BYTES_IN_FLIGHT); retry later',
    });
    expect(await call(app, 'GET', '/v1/filters')).toMatchObject({ status: 200 });
  });

  it('counts a body without a length as it arrives, and refuses it at the limit', async () => {
    occupy(1, 1_000);
    const [growing] = await hold(1, { ...JSON_TYPE, 'transfer-encoding': 'chunked' });
    growing?.send(`1f4\r\n${' '.repeat(500)}\r\n`);
    await until('the bytes are counted', async () => inFlight(app)['bytes'] === 1_500);
    occupy(1, 400);
    growing?.send(`12c\r\n${' '.repeat(300)}\r\n0\r\n\r\n`);
    const answer = await growing?.answer();
    expect(answer?.head).toContain('retry-after: 1');
    expect(answer).toMatchObject({ status: 503, body: expect.stringContaining('MAX_BYTES_IN_FLIGHT') });
  });

  it('counts a body as it arrives if its head did not announce a whole body', async () => {
    const head = { ...JSON_TYPE, 'content-length': 1_000 };
    const posing = (await client()).send(postHead('/v1/nowhere/export', head), ' '.repeat(600));
    await until('the bytes are counted', async () => inFlight(app)['bytes'] === 600);
    occupy(1, 1_000);
    occupy(1, 400);
    posing.send(' '.repeat(100));
    expect(await posing.answer()).toMatchObject({
      status: 503,
      body: expect.stringContaining('MAX_BYTES_IN_FLIGHT'),
    });
  });

  it('refuses bodies that are too large with their own error, for any announced length', async () => {
    occupy(2, 1_000);
    const large = (await client()).send(postHead(`${items}/add`, { ...JSON_TYPE, 'content-length': 1e9 }));
    expect(await large.answer()).toMatchObject({ status: 413 });
  });

  it('limits streams separately from requests, and counts their bytes', async () => {
    const [stream] = await hold(2, TEXT_TYPE);
    const refused = (await client()).send(postHead(`${items}/add`, TEXT_TYPE));
    expect(JSON.parse((await refused.answer()).body)).toMatchObject({
      code: 'OVERLOADED',
      detail: 'the service takes at most 2 streamed bodies and exports at a time (MAX_STREAMS); retry later',
    });
    expect(await call(app, 'POST', `${items}/check`, { items: ['x'] })).toMatchObject({ status: 200 });
    const lines = Array.from({ length: 1_500 }, (_, i) => `line ${String(i).padStart(5, '0')}\n`).join('');
    stream?.send(`${lines.length.toString(16)}\r\n${lines}\r\n`);
    // 1,000 lines are done. The remaining 500 lines of 10 bytes become a block once the sender pauses.
    await until('the rest of the lines is counted', async () => inFlight(app)['bytes'] === 5_000);
    expect(await call(app, 'POST', `${items}/check`, { items: ['x'] })).toMatchObject({ status: 503 });
  });

  it('tells a client that sends Expect whether to send its body', async () => {
    const head = postHead(`${items}/add`, { ...JSON_TYPE, 'content-length': 18, expect: '100-continue' });
    const asking = (await client()).send(head);
    expect(await asking.answer()).toMatchObject({ status: 100 });
    await untilParked();
    occupy(3);
    const refused = (await client()).send(head);
    expect((await refused.answer()).head).toMatch(/^http\/1\.1 503 [^]*connection: close/);
    for (const permit of slots) permit.over();
    asking.send('{"items":["asks"]}');
    expect(await asking.answer()).toMatchObject({ status: 200, body: '{"results":[true]}' });
  });
});

describe('a call that continues after its client disconnects', () => {
  let redis: RedisServer;
  let app: TestApp;

  beforeAll(async () => {
    redis = await startRedis();
    app = await startApp({
      REDIS_URL: redis.url,
      // Longer than this test may take, so that no call times out while Redis is stopped.
      REDIS_TIMEOUT_MS: '600000',
      REQUEST_TIMEOUT_MS: '600000',
      MAX_REQUESTS_IN_FLIGHT: '2',
      AUTH: 'none',
    });
  });
  afterAll(async () => {
    await app.close();
    await redis.stop();
  });

  it('keeps its place, so retries don’t pile up calls to the store', async () => {
    const items = await createFilter(app);
    process.kill(redis.pid, 'SIGSTOP');
    try {
      for (let i = 0; i < 2; i++) {
        const client = (await RawClient.connect(app.port)).send(
          jsonPost(`${items}/add`, { items: [`${i}`] }),
        );
        await until('the call is in flight', async () => inFlight(app)['requests'] === i + 1);
        // Answers come in request order, so the call has reached the store once this one is answered.
        expect(await call(app, 'GET', '/healthz')).toMatchObject({ status: 200 });
        client.socket.resetAndDestroy();
      }
      await until(
        'the service has noticed that the clients left',
        async () => (await connections(app)) === 0,
      );
      expect(inFlight(app)).toMatchObject({ requests: 2 });
      expect(await call(app, 'POST', `${items}/add`, { items: ['x'] })).toMatchObject({
        status: 503,
        body: { code: 'OVERLOADED' },
      });
    } finally {
      process.kill(redis.pid, 'SIGCONT');
    }
    await untilIdle(app);
  });
});
