import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { UnreachableError, UnseenClient, type Retrying, type VisitedSet } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { moved, moveTime, untilMoved } from '../support/moved-timers.js';
import { freePort } from '../support/redis-server.js';
import { Random, SEED } from '../support/random.js';
import { recordedFetch } from '../support/recorded-fetch.js';
import { TcpProxy } from '../support/tcp-proxy.js';

afterEach(() => {
  jest.useRealTimers();
});

describe('client retries', () => {
  let app: TestApp;
  let proxy: TcpProxy;
  beforeAll(async () => {
    app = await startApp();
    proxy = await TcpProxy.start(app.port);
  });
  afterAll(async () => {
    await proxy.stop();
    await app.close();
  });

  it(`do nothing twice when connections are cut anywhere (SEED=${SEED})`, async () => {
    const random = new Random(SEED);
    const recorded = recordedFetch();
    const client = new UnseenClient({ url: `http://127.0.0.1:${proxy.port}`, fetch: recorded.fetch });
    const set = new UnseenClient({ url: app.url }).visitedSet(freshName('set'));
    await set.create({ capacity: 20_000, errorRate: 1e-9 });
    const list = Array.from({ length: 10_000 }, (_, i) => `https://example.org/${i}`);
    let cuts = 0;
    const cutting = { over: false };
    const cut = async (): Promise<void> => {
      while (!cutting.over && cuts < 30) {
        if (proxy.hasCut) {
          cuts++;
          proxy.cutAfter(random.pick(['request', 'reply'] as const), random.below(40_000));
        }
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    const cutter = cut();
    const found: string[] = [];
    for await (const [, result] of client.visitedSet(set.name).visit(new Set(list))) found.push(result);
    cutting.over = true;
    await cutter;
    proxy.disarm();
    expect(found).toEqual(list.map(() => 'new'));
    expect(await set.describe()).toMatchObject({ added: 10_000, duplicate: 0, items: 10_000 });
    const keys = recorded.sent.map(({ key }) => key);
    expect(new Set(keys).size).toBe(10);
    expect(keys.length).toBeGreaterThan(10);
  });

  it('are reported once for all calls after failing for a while, and again only after an answer', async () => {
    moveTime();
    const told: Retrying[] = [];
    const closedPort = `http://127.0.0.1:${await freePort()}`;
    let isAway = true;
    const client = new UnseenClient({
      url: app.url,
      fetch: (input, init) => fetch(isAway ? closedPort : input, init),
      onRetry: (retrying) => {
        told.push(retrying);
        throw new Error('a listener that throws');
      },
    });
    for (let outage = 1; outage <= 2; outage++) {
      isAway = true;
      const calls = [
        client.me(),
        client.me(),
        client.plan({ type: 'counting', capacity: 10, errorRate: 0.1 }),
      ];
      await untilMoved('the outage is reported', () => told.length === outage);
      isAway = false;
      await moved('they are answered', Promise.all(calls));
    }
    expect(told).toEqual(
      [1, 2].map(() => ({
        message: `retrying, connection refused by ${new URL(app.url).host}`,
        error: expect.any(UnreachableError),
        sinceMs: expect.any(Number),
      })),
    );
    expect(told.every(({ sinceMs }) => sinceMs > 1_900)).toBe(true);
  });

  it('are reported again after an outage that a refusal ended', async () => {
    moveTime();
    const closedPort = `http://127.0.0.1:${await freePort()}`;
    let isAway = true;
    let told = 0;
    const client = new UnseenClient({
      url: app.url,
      fetch: (input, init) => fetch(isAway ? closedPort : input, init),
      onRetry: () => {
        told++;
      },
    });
    for (let outage = 1; outage <= 2; outage++) {
      isAway = true;
      const call = client.visitedSet(freshName()).describe();
      const refused = expect(call).rejects.toMatchObject({ code: 'VISITED_SET_NOT_FOUND' });
      await untilMoved('the outage is reported', () => told === outage);
      isAway = false;
      await moved('it is answered', refused);
    }
  });

  it('are reported on the console in one line, without control characters', async () => {
    moveTime();
    const warn = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    const problem = { code: 'STORE_UNAVAILABLE', detail: 'gone\u001b[2J\r\n\u2028\u202e\u{e0041}é 😀' };
    let isAway = true;
    const client = new UnseenClient({
      url: app.url,
      fetch: async (input, init) =>
        isAway ? new Response(JSON.stringify(problem), { status: 503 }) : fetch(input, init),
    });
    const call = client.me();
    await untilMoved('the outage is reported', () => warn.mock.calls.length > 0);
    isAway = false;
    await moved('it is answered', call);
    const shown = 'gone\\u{1b}[2J\\u{d}\\u{a}\\u{2028}\\u{202e}\\u{e0041}é 😀';
    expect(warn.mock.calls).toEqual([[`unseen: retrying, STORE_UNAVAILABLE: ${shown} (GET /v1/me)`]]);
    warn.mockRestore();
  });

  it('are not made for permanent refusals', async () => {
    const recorded = recordedFetch();
    const client = new UnseenClient({ url: app.url, fetch: recorded.fetch });
    const none = client.visitedSet(freshName());
    await expect(none.visit('https://example.org/')).rejects.toMatchObject({ code: 'VISITED_SET_NOT_FOUND' });
    await expect(none.create({ capacity: -1 })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(recorded.sent).toHaveLength(2);
  });

  it('continue until the service is available', async () => {
    const port = await freePort();
    const client = new UnseenClient({ url: `http://127.0.0.1:${port}` });
    const name = freshName('set');
    const creating = client.visitedSet(name).create({ capacity: 1_000 });
    const late = await listen((request, response) => {
      const { method = 'GET', headers, url = '/' } = request;
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const key = headers['idempotency-key'] as string;
        const sent = { 'content-type': 'application/json', 'idempotency-key': key };
        void fetch(app.url + url, { method, headers: sent, body: Buffer.concat(chunks) }).then(
          async (answer) =>
            response
              .writeHead(answer.status, { 'content-type': 'application/json' })
              .end(await answer.text()),
        );
      });
    }, port);
    try {
      expect(await creating).toMatchObject({ name, capacity: 1_000 });
    } finally {
      await close(late);
    }
  });
});

describe('a client whose service', () => {
  /** No call or attempt times out, however slow the machine is. */
  const PATIENT = { timeoutMs: 3_600_000, attemptMs: 3_600_000 };
  const asked = async (
    answer: RequestListener,
    options: { timeoutMs?: number; attemptMs?: number } = PATIENT,
    call = (set: VisitedSet): Promise<unknown> => set.visit('https://example.org/'),
  ): Promise<{ error: Error & { cause?: unknown }; requests: number; keys: Set<unknown> }> => {
    let requests = 0;
    const keys = new Set<unknown>();
    const server = await listen((request, response) => {
      requests++;
      keys.add(request.headers['idempotency-key']);
      request.resume();
      answer(request, response);
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const set = new UnseenClient({ url, ...options }).visitedSet('crawl');
      const error = await call(set).then(
        (result) => new Error(`was answered ${typeof result === 'string' ? result : JSON.stringify(result)}`),
        (thrown: unknown) => thrown as Error,
      );
      return { error, requests, keys };
    } finally {
      await close(server);
    }
  };
  const problem = (status: number, code: string, headers: Record<string, string> = {}): RequestListener => {
    const body = JSON.stringify({ status, code, detail: 'as it is', requestId: 'r', errors: 7 });
    return (_, response) => void response.writeHead(status, headers).end(body);
  };

  it('does not exist gets an error with its URL', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    // This call isn't retried, so no attempt ends with the time limit.
    const making = new UnseenClient({ url, ...PATIENT }).createKey({ name: 'one', scopes: ['read'] });
    await expect(making).rejects.toThrow(UnreachableError);
    await expect(making).rejects.toThrow(`${url} could not be reached`);
    await expect(making).rejects.toThrow('ECONNREFUSED');
  });

  it('does not exist ends on an abort with its reason', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const set = new UnseenClient({ url }).visitedSet('crawl');
    const signal = AbortSignal.timeout(100);
    await expect(set.describe({ signal })).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  /** Answers the first requests with `answer`, and later ones like the service. */
  const atFirst = (answer: RequestListener, times = 2): RequestListener => {
    let answers = 0;
    return (request, response) => {
      if (++answers > times) response.end('{"results":["new"]}');
      else answer(request, response);
    };
  };

  it('does not answer is asked again, with the same key', async () => {
    const { error, requests, keys } = await asked(
      atFirst(() => undefined),
      { ...PATIENT, attemptMs: 500 },
    );
    expect(error.message).toBe('was answered new');
    // On a slow machine, an answer may time out.
    expect(requests).toBeGreaterThanOrEqual(3);
    expect(keys.size).toBe(1);
  });

  it.each<[string, RequestListener]>([
    ['is overloaded', problem(503, 'OVERLOADED')],
    ['limits the rate', problem(429, 'RATE_LIMITED', { 'retry-after': '0' })],
    ['is behind a gateway that cannot reach it', (_, response) => void response.writeHead(502).end('<html>')],
    ['has a filter that is busy', problem(409, 'FILTER_BUSY')],
    ['breaks off', (request) => request.socket.destroy()],
    [
      'breaks off its answer',
      (_, response) => {
        response.writeHead(200, { 'content-length': 100 }).write('{"results":', () => response.destroy());
      },
    ],
  ])('%s is asked again, with the same key', async (_, answer) => {
    const { error, requests, keys } = await asked(atFirst(answer), PATIENT);
    expect(error.message).toBe('was answered new');
    expect(requests).toBe(3);
    expect(keys.size).toBe(1);
  });

  it('keeps failing gets the last error', async () => {
    const soon = { timeoutMs: 300, attemptMs: 200 };
    expect((await asked(() => undefined, soon)).error.message).toContain('no answer within');
    // Answers without delay, because a slow server might not answer the last attempt in the time left.
    const refused = async (status: number, body: string) => {
      const fetch = async () => new Response(body, { status });
      const set = new UnseenClient({ timeoutMs: 1_000, fetch }).visitedSet('crawl');
      return set.visit('https://example.org/').catch((thrown: unknown) => thrown);
    };
    const overloaded = { status: 503, code: 'OVERLOADED', detail: 'as it is', requestId: 'r', errors: 7 };
    expect(await refused(503, JSON.stringify(overloaded))).toMatchObject({
      ...{ name: 'UnavailableError', code: 'OVERLOADED', errors: [] },
    });
    expect(await refused(502, '<html>')).toMatchObject({ name: 'AnswerError', status: 502 });
  });

  it('asks for more time than is left gets no retry', async () => {
    const later = await asked(problem(429, 'RATE_LIMITED', { 'retry-after': '120' }), {
      ...PATIENT,
      timeoutMs: 60_000,
    });
    expect(later.error).toMatchObject({ name: 'UnavailableError', retryAfterSeconds: 120 });
    expect(later.requests).toBe(1);
  });

  it('refuses an import is asked again for a Blob, but only once for a stream', async () => {
    const overloaded = problem(429, 'RATE_LIMITED', { 'retry-after': '0' });
    const blob = new Blob(['an export']);
    const ofBlob = await asked(atFirst(overloaded), PATIENT, (set) => set.import(blob));
    expect(ofBlob.error.message).toBe('was answered {"results":["new"]}');
    expect(ofBlob.requests).toBe(3);
    const ofStream = await asked(atFirst(overloaded), PATIENT, (set) => set.import(blob.stream()));
    expect(ofStream.error).toMatchObject({ name: 'UnavailableError', code: 'RATE_LIMITED', status: 429 });
    expect(ofStream.requests).toBe(1);
  });

  it('has lost data or fails is not asked again', async () => {
    for (const [status, code, name] of [
      [503, 'STORE_DATA_LOST', 'DataLostError'],
      [500, 'INTERNAL_ERROR', 'ServiceError'],
      [418, 'OF_A_NEWER_SERVICE', 'ServiceError'],
    ] as const) {
      const { error, requests } = await asked(problem(status, code));
      expect(error).toMatchObject({ name, code, status });
      expect(requests).toBe(1);
    }
  });

  it.each<[string, RequestListener]>([
    ['that is not JSON', (_, response) => void response.end('hello')],
    ['that is JSON of another kind', (_, response) => void response.end('null')],
    ['with too few results', (_, response) => void response.end('{"results":[]}')],
    [
      'with a redirection',
      (_, response) => void response.writeHead(302, { location: 'http://a.example/' }).end(),
    ],
    ['of another service', (_, response) => void response.writeHead(404).end('<html>')],
    ['that never ends', (_, response) => flood(response, 'x'.repeat(2 ** 20))],
    [
      'that expands without limit',
      (_, response) => {
        response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': BOMB.length });
        response.end(BOMB);
      },
    ],
    ['with an error that never ends', (_, response) => flood(response.writeHead(400), 'x'.repeat(2 ** 20))],
  ])('gives an answer %s gets an AnswerError at once', async (_, answer) => {
    const { error, requests } = await asked(answer);
    expect(error).toMatchObject({ name: 'AnswerError' });
    expect(error.message.length).toBeLessThan(300);
    expect(requests).toBe(1);
  });

  it('does not answer is asked to create a key only once', async () => {
    let requests = 0;
    const server = await listen((request) => {
      requests++;
      request.socket.destroy();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const making = new UnseenClient({ url, ...PATIENT }).createKey({ name: 'one', scopes: ['read'] });
    await expect(making).rejects.toThrow(UnreachableError);
    await close(server);
    expect(requests).toBe(1);
  });
});

/** 100 MiB of spaces in about 100 KiB. */
const BOMB = gzipSync(Buffer.alloc(100 * 2 ** 20, ' '));

async function listen(listener: RequestListener, port = 0): Promise<Server> {
  // A server that closed idle connections could close one before a client on a busy machine has read its answer.
  const server = createServer({ keepAliveTimeout: 0 }, listener).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

/** Writes until the reader disconnects. */
function flood(response: Parameters<RequestListener>[1], text: string): void {
  const write = (): void => {
    while (!response.destroyed && response.write(text));
  };
  response.on('drain', write);
  write();
}
