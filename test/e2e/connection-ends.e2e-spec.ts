import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { LINGER_MS } from '../../src/http/discard.js';
import { startApp, type TestApp } from '../support/app.js';
import { jsonPost, postHead } from '../support/raw-client.js';
import { until } from '../support/until.js';
import { createFilter, untilIdle } from './in-flight.js';

const KIB = 1024;
const BODY_BYTES = 2 * KIB * KIB;
const PART = 'x'.repeat(64 * KIB);

/** A client that ends its side of the connection only when told to, not when the service ends the other side. */
class HalfOpen {
  received = '';
  ended = false;
  closed = false;
  readonly errors: string[] = [];
  readonly socket: Socket;

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => (this.received += text));
    this.socket.on('end', () => (this.ended = true));
    this.socket.on('close', () => (this.closed = true));
    this.socket.on('error', ({ message }) => this.errors.push(message));
  }

  /** Resolves when the service has ended its side or the connection breaks. */
  async end(): Promise<void> {
    await until('the service has ended its side', async () => this.ended || this.closed);
  }

  statuses(): string[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status as string);
  }
}

const clients: HalfOpen[] = [];
let app: TestApp;
let items: string;

beforeAll(async () => {
  app = await startApp({ MAX_BODY_BYTES: String(512 * KIB) });
  items = await createFilter(app);
});
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy();
  await untilIdle(app);
});
afterAll(() => app.close());

function open(): HalfOpen {
  const client = new HalfOpen(app.port);
  clients.push(client);
  return client;
}

describe('a body that is refused before it is sent, on a connection that ends with the answer', () => {
  const headers = { connection: 'close', 'content-length': BODY_BYTES, 'content-type': 'application/json' };
  const refused = [
    ['413', '', {}],
    ['403', '', { host: 'evil.example' }],
    ['404', '/nowhere', {}],
    ['415', '', { 'content-encoding': 'gzip' }],
    ['403, though asked for', '', { expect: '100-continue', host: 'evil.example' }],
  ] as const;

  it.each(refused)('lets the client finish sending and read the answer: %s', async (_, path, more) => {
    await until('a body is sent completely', async () => {
      const client = open();
      const began = performance.now();
      client.socket.write(postHead(`${items}/add${path}`, { ...headers, ...more }));
      await client.end();
      expect(client.received).toMatch(
        /HTTP\/1\.1 4\d\d [^]*\r\nconnection: close\r\n[^]*"requestId":"[^"]+"}$/i,
      );
      for (let sent = 0; sent < BODY_BYTES; sent += PART.length) {
        await new Promise((written) => client.socket.write(PART, written));
        await sleep(5);
      }
      client.socket.end();
      await until('the connection is closed', async () => client.closed);
      // The service cuts off a client after LINGER_MS of real time, 20 times as long as an attempt takes. Only an
      // attempt that took longer is repeated, until the test's time is over; any other has to end without an error.
      const late = performance.now() - began > LINGER_MS;
      if (!late) expect(client.errors).toEqual([]);
      return client.errors.length === 0;
    });
  });

  it('is read for a limited time', async () => {
    const client = open();
    client.socket.write(postHead(`${items}/add`, { ...headers, 'content-length': 2 ** 40 }));
    await until('the connection is cut', async () => {
      if (!client.closed && client.socket.writableLength === 0) client.socket.write('x');
      return client.closed;
    });
    expect(client.statuses()).toEqual(['413']);
  });

  it('isn’t followed by requests that are executed', async () => {
    const client = open();
    const length = 600 * KIB;
    client.socket.write(postHead(`${items}/add`, { ...headers, 'content-length': length }));
    await client.end();
    client.socket.end(`${'x'.repeat(length)}${jsonPost(`${items}/add`, { items: ['behind the end'] })}`);
    await until('the connection is closed', async () => client.closed);
    const other = open();
    other.socket.end(jsonPost(`${items}/check`, { items: ['behind the end'] }));
    await other.end();
    expect(other.received).toContain('"results":[false]');
  });
});

describe('a client that ends its side once it has sent all', () => {
  const chunked = { 'transfer-encoding': 'chunked', 'content-type': 'text/plain' };

  it('gets all its answers, then the connection closes', async () => {
    const add = jsonPost(`${items}/add`, { items: ['half', 'open'] });
    const stream = `${postHead(`${items}/check`, chunked)}5\r\nhalf\n\r\n0\r\n\r\n`;
    for (const requests of [[add], [stream], [add, stream, add]]) {
      const client = open();
      client.socket.end(requests.join(''));
      await until('the connection is closed', async () => client.closed);
      expect(client.statuses()).toEqual(requests.map(() => '200'));
      expect(client.errors).toEqual([]);
    }
  });

  it('mid-request gets the answers to earlier requests, and holds nothing', async () => {
    const add = jsonPost(`${items}/add`, { items: ['whole'] });
    for (const rest of [
      'POST',
      postHead(`${items}/add`, chunked),
      `${postHead(`${items}/add`, chunked)}5\r\nh`,
    ]) {
      const client = open();
      client.socket.end(add + rest);
      await until('the connection is closed', async () => client.closed);
      expect(client.statuses()).toEqual(['200', '400']);
      await untilIdle(app);
    }
  });

  it('and disconnects holds nothing', async () => {
    const ids = Array.from({ length: 10_000 }, (_, i) => `${i}`);
    for (const leave of ['destroy', 'resetAndDestroy'] as const) {
      for (let i = 0; i < 20; i++) {
        const { socket } = open();
        socket.write(jsonPost(`${items}/add`, { items: ids }), () => socket[leave]());
      }
      await untilIdle(app);
    }
  });
});
