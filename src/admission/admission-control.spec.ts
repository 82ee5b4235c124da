import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { AdmissionControl } from './admission-control.js';
import { Callers } from './callers.js';
import { InFlight } from './in-flight.js';
import { Routes } from './routes.js';
import { Turns } from './turns.js';

const BOUNDS = { requests: 10, streams: 10, probes: 10, bytes: 1_000_000, answers: 1_000_000 };
const BODY = '{"items":["a"]}';
const HEAD =
  `POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n` +
  `content-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n`;

/** The server's answer to a request whose head and body arrive together. */
async function answerOf(handle: RequestListener): Promise<string> {
  const options = {
    headers: {},
    logger: pino({ level: 'silent' }),
    callers: new Callers(),
    routes: new Routes(1_000),
    turns: new Turns(),
    tracing: undefined,
  };
  const server = createServer();
  new AdmissionControl(new InFlight(BOUNDS), options).guard(server, handle);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(HEAD + BODY);
    return await text(socket);
  } finally {
    server.close();
  }
}

describe('AdmissionControl', () => {
  it('starts a request with a small body once the body is complete', async () => {
    const answer = await answerOf((request, response) => response.end(`complete: ${request.complete}`));
    expect(answer).toContain('complete: true');
  });
});
