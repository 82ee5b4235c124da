import type { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { Connection } from './connection.js';

function connectionFrom(remoteAddress: string): Connection {
  return new Connection({ remoteAddress, once: () => undefined } as unknown as Socket);
}

describe('requests without credentials in an open service', () => {
  it.each(['192.0.2.1', '2001:db8::1'])('are charged to their address: %s', (ip) => {
    const address = `address:${ip}`;
    expect(connectionFrom(ip)).toMatchObject({ address, anonymous: address });
  });

  it.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])('are charged to no caller on %s', (ip) => {
    expect(connectionFrom(ip)).toMatchObject({ address: `address:${ip}`, anonymous: undefined });
  });
});
