import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { SYSTEM_CLOCK } from '#store';
import { IssuerKeys } from './issuer-keys.js';

const MIB = 1_024 * 1_024;
const HEADER = { alg: 'ES256', kid: 'first' };
const TOKEN = { payload: '', protected: '', signature: '' };

/** An issuer that sends spaces until the connection closes. */
let server: Server;
let url: string;
let endless: (path: string) => boolean;

beforeEach(async () => {
  server = createServer(({ url: path = '' }, reply) => {
    if (endless(path)) sendSpaces(reply);
    else reply.end(JSON.stringify({ issuer: url, jwks_uri: `${url}/jwks` }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

function sendSpaces(reply: ServerResponse): void {
  const spaces = Buffer.alloc(64 * 1_024, ' ');
  const send = (): void => {
    while (!reply.destroyed && reply.write(spaces));
  };
  reply.on('drain', send).on('error', () => undefined);
  send();
}

it.each([
  ['configuration', (path: string) => path.startsWith('/.well-known/'), '/.well-known/openid-configuration'],
  ['keys', (path: string) => path === '/jwks', '/jwks'],
])('stops reading endless %s at 1 MiB', async (_, isEndless, path) => {
  endless = isEndless;
  const keys = new IssuerKeys({ issuer: url, jwksUrl: undefined }, SYSTEM_CLOCK);
  const refusal: unknown = await keys.find(HEADER, TOKEN).catch((error: unknown) => error);
  expect(refusal).toMatchObject({
    code: 'OVERLOADED',
    cause: { message: `${url}${path} returned more than ${MIB} bytes` },
  });
});
