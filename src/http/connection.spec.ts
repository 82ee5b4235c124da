import type { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { Connection } from './connection.js';

function connectionFrom(remoteAddress: string): Connection {
  return new Connection({ remoteAddress, once: () => undefined } as unknown as Socket);
}

describe('requests where no credentials are asked for', () => {
  it.each(['192.0.2.1', '2001:db8::1'])('are counted as those of their address: %s', (ip) => {
    const address = `address:${ip}`;
    expect(connectionFrom(ip)).toMatchObject({ address, anonymous: address });
  });

  it.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])('are nobody’s on %s', (ip) => {
    expect(connectionFrom(ip)).toMatchObject({ address: `address:${ip}`, anonymous: undefined });
  });
});
