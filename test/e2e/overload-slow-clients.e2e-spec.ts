import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { MOST_WAITING } from '../../src/http/connection.js';
import { startApp, type TestApp } from '../support/app.js';
import { jsonPost, postHead, RawClient } from '../support/raw-client.js';
import { until } from '../support/until.js';
import { connections, createFilter, inFlight, untilIdle } from './in-flight.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const CHUNKED = { 'transfer-encoding': 'chunked' };
const TEXT = { 'content-type': 'text/plain', ...CHUNKED };
const NDJSON = { 'content-type': 'application/x-ndjson', ...CHUNKED };
const KIB = 1024;
const MIB = 1024 * KIB;

const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

/** A service with these settings, and its clients, for a suite's tests. */
function service(settings: Readonly<Record<string, string>>) {
  const clients: RawClient[] = [];
  const running = {} as { app: TestApp; items: string };
  beforeAll(async () => {
    running.app = await startApp(settings);
    running.items = await createFilter(running.app);
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.destroy();
    await untilIdle(running.app);
  });
  afterAll(() => running.app.close());
  const client = async (reads = true): Promise<RawClient> => {
    const made = await RawClient.connect(running.app.port, reads);
    clients.push(made);
    return made;
  };
  return { running, clients, client };
}

/** Sends `part` repeatedly until an answer matches `pattern`. */
async function sendsUntil(sender: RawClient, part: string, pauseMs: number, pattern: RegExp): Promise<void> {
  const progress = { answered: false };
  const answer = sender.receives(pattern).finally(() => (progress.answered = true));
  while (!progress.answered) {
    if (!sender.socket.destroyed && sender.socket.writableLength < MIB) sender.send(part);
    await sleep(pauseMs);
  }
  await answer;
}

describe('a slow client is cut off', () => {
  const { running, clients, client } = service({
    ...{ REQUEST_TIMEOUT_MS: '800', STREAM_IDLE_MS: '400', STREAM_MIN_RATE: '1000' },
  });

  it('if it sends nothing', async () => {
    expect(await (await client()).closed()).toMatch(/^(HTTP\/1\.1 408 [^]*REQUEST_TIMEOUT.*)?$/);
  });

  it('if its head never ends, at any speed', async () => {
    const slow = (await client()).send(`POST ${running.items}/add HTTP/1.1\r\nhost: 127.0.0.1\r\n`);
    await sendsUntil(slow, 'x: y\r\n', 50, /408 [^]*the request headers did not arrive in time/);
    await slow.closed();
  });

  it('if its JSON body doesn’t end in time, at any speed', async () => {
    const slow = (await client()).send(
      postHead(`${running.items}/add`, { ...JSON_TYPE, 'content-length': 9_999 }),
    );
    await sendsUntil(slow, ' ', 50, /408 [^]*the body did not arrive within 800 ms/);
  });

  it('if its stream trickles a byte at a time', async () => {
    // On a slow machine, a client may pause so long that it is cut off for the pause.
    await until('a client is cut off for its rate', async () => {
      const slow = (await client()).send(postHead(`${running.items}/add?results=none`, TEXT));
      await sendsUntil(slow, chunk('x'), 50, /408 [^]*detail/);
      return /a stream must send at least 1000 bytes per second/.test(await slow.closed());
    });
  });

  it('if its stream pauses', async () => {
    const slow = (await client()).send(postHead(`${running.items}/add?results=none`, TEXT), chunk('x\n'));
    await slow.receives(/the client sent nothing for 400 ms/);
  });

  it('if it doesn’t read its answers, from a page or from calls', async () => {
    // Much more than the buffers of both sockets hold.
    const page = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n';
    const call = jsonPost(`${running.items}/check`, {
      items: Array.from({ length: 10_000 }, (_, i) => `${i}`),
    });
    for (const request of [page, call]) {
      const deaf = await client(false);
      for (let i = 0; i < MOST_WAITING; i++) deaf.send(request);
      // A client that doesn't read can't see the end, so check that the service drops the connection.
      await until('the connection is cut', async () => {
        return (await connections(running.app)) === 0;
      });
    }
  });

  it('if it sends a body that the route ignores, even of a refused request', async () => {
    const requests = [
      ['GET /healthz', '127.0.0.1', 200],
      ['GET /v1/filters', 'evil.example', 403],
      ['POST /nowhere', '127.0.0.1', 404],
      ['PUT /v1/filters', '127.0.0.1', 405],
    ] as const;
    for (const [line, host, status] of requests) {
      const endless = await client();
      endless.send(`${line} HTTP/1.1\r\nhost: ${host}\r\ntransfer-encoding: chunked\r\n\r\n`);
      expect([line, (await endless.answer()).status]).toEqual([line, status]);
    }
    await until('all connections are cut', async () => {
      for (const endless of clients) {
        if (!endless.socket.destroyed && endless.socket.writableLength < MIB)
          endless.send(chunk('x'.repeat(KIB)));
      }
      return (await connections(running.app)) === 0;
    });
  });
});

describe('an endless client is cut off', () => {
  // Allows long pauses, so that only the total size matters, even on a slow machine.
  const { running, client } = service({
    ...{ REQUEST_TIMEOUT_MS: '3600000', STREAM_IDLE_MS: '3600000', STREAM_MIN_RATE: '1' },
    ...{ MAX_BODY_BYTES: String(256 * KIB), MAX_STREAM_BYTES: String(512 * KIB) },
  });

  it('if its JSON body does not end', async () => {
    const endless = (await client()).send(postHead(`${running.items}/add`, { ...JSON_TYPE, ...CHUNKED }));
    await sendsUntil(endless, chunk(' '.repeat(16 * KIB)), 0, /413 [^]*BODY_TOO_LARGE/);
  });

  it('if its stream does not end', async () => {
    const endless = (await client()).send(postHead(`${running.items}/add?results=none`, TEXT));
    await sendsUntil(endless, chunk(`${'x'.repeat(1_000)}\n`.repeat(16)), 0, /200 [^]*BODY_TOO_LARGE/);
  });

  it.each([
    ['text', TEXT],
    ['NDJSON', NDJSON],
  ])('if its line doesn’t end, in %s', async (_, headers) => {
    const endless = (await client()).send(postHead(`${running.items}/add?results=none`, headers));
    await sendsUntil(endless, chunk('x'.repeat(16 * KIB)), 0, /400 [^]*a line may have at most/);
  });
});

describe('a client that is slow but active', () => {
  let app: TestApp;
  let items: string;
  beforeAll(async () => {
    // Clients must read answers within STREAM_IDLE_MS. Bodies may take longer than any test.
    app = await startApp({ REQUEST_TIMEOUT_MS: '600000', STREAM_IDLE_MS: '100' });
    items = await createFilter(app);
  });
  afterAll(() => app.close());

  it('is served: an answer’s time doesn’t count against the next pipelined request', async () => {
    const body = JSON.stringify({ items: ['behind'] });
    const pipelined = (await RawClient.connect(app.port)).send(
      jsonPost(`${items}/check`, { items: ['first'] }) +
        postHead(`${items}/check`, { ...JSON_TYPE, 'content-length': body.length }),
    );
    expect(await pipelined.answer()).toMatchObject({ status: 200 });
    // Longer than a client may leave an answer unread.
    await sleep(250);
    expect(await pipelined.send(body).answer()).toMatchObject({ status: 200 });
    pipelined.destroy();
  });

  it('is served, byte by byte', async () => {
    const body = JSON.stringify({ items: ['slow'] });
    const slow = (await RawClient.connect(app.port)).send(
      postHead(`${items}/add`, { ...JSON_TYPE, 'content-length': body.length }),
    );
    for (const letter of body) {
      slow.send(letter);
      await sleep(5);
    }
    expect(await slow.answer()).toMatchObject({ status: 200 });
    expect(inFlight(app)['streams']).toBe(0);
    slow.destroy();
  });
});

it('a client that reads its answers in small pieces, without long pauses, is also cut off', async () => {
  const app = await startApp({ REQUEST_TIMEOUT_MS: '500' });
  const requests = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n'.repeat(MOST_WAITING);
  try {
    // On a slow machine, the first client may be cut off before its second read.
    await until('a client that read slowly is cut off', async () => {
      const sipping = (await RawClient.connect(app.port, false)).send(requests);
      let sips = 0;
      try {
        await until('the connection is cut', async () => {
          if (sipping.socket.read(16 * KIB) !== null) sips++;
          return (await connections(app)) === 0;
        });
      } finally {
        sipping.destroy();
      }
      return sips > 1;
    });
  } finally {
    await app.close();
  }
});
