import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freshName, type TestApp } from '../support/app.js';
import { RespClient, respCommand } from '../support/resp-client.js';
import { until } from '../support/until.js';
import { inFlight, untilIdle } from './in-flight.js';
import { STORES } from './stores.js';

const MIB = 1024 * 1024;

describe.each(STORES)('hostile Redis clients, $name store', ({ start }) => {
  let app: TestApp;
  let slow: TestApp;
  beforeAll(async () => {
    app = await start({ RESP_PORT: '0', MAX_BODY_BYTES: String(MIB), MAX_BYTES_IN_FLIGHT: String(MIB) });
    slow = await start({ RESP_PORT: '0', REQUEST_TIMEOUT_MS: '500' });
  });
  afterAll(async () => {
    await app.close();
    await slow.close();
  });

  const connect = (): Promise<RespClient> => RespClient.connect(app.respPort);

  it.each([
    ['an HTTP request', 'POST / HTTP/1.1\r\nHost: unseen\r\nContent-Length: 14\r\n\r\n*1\r\n$4\r\nPING\r\n'],
    ['an inline command', 'PING\r\n'],
    ['a TLS handshake', '\x16\x03\x01\x02\x00\x01'],
  ])('closes a connection that begins with %s, without an answer', async (_, text) => {
    const client = await connect();
    expect(await client.send(Buffer.from(text, 'latin1')).closed()).toEqual([]);
  });

  it.each([
    [
      'a huge number of arguments',
      '*2147483647\r\n',
      'a command may have at most 10016 arguments here, not 2147483647',
    ],
    [
      'a huge argument',
      `*2\r\n$4\r\nECHO\r\n$${MIB + 1}\r\n`,
      `an argument may have at most ${MIB} bytes here, not ${MIB + 1}`,
    ],
    ['a huge command', `*2\r\n$4\r\nECHO\r\n$${MIB}\r\n`, `a command may have at most ${MIB} bytes here`],
    ['a number without end', '*1111111111111', 'a length has too many digits'],
    ['an argument that is no string', '*1\r\n:1\r\n', 'each argument of a command must be a bulk string'],
    [
      'an HTTP request after a command',
      '*1\r\n$4\r\nPING\r\nGET / HTTP/1.1\r\n',
      'a command must be an array of bulk strings',
    ],
  ])('refuses %s by name, and closes the connection', async (_, text, fault) => {
    const client = await connect();
    const replies = await client.send(text).closed();
    expect(replies.at(-1)).toBe(`-ERR Protocol error: ${fault}\r\n`);
    await untilIdle(app);
  });

  it('answers a batch before a fault that follows it', async () => {
    const client = await connect();
    const name = freshName('filter');
    await client.call('CF.RESERVE', name, '1000');
    const add = respCommand('CF.ADD', name, 'a');
    const replies = await client.send(Buffer.concat([add, add, Buffer.from('GET / HTTP/1.1\r\n')])).closed();
    expect(replies).toEqual([
      ':1\r\n',
      ':1\r\n',
      '-ERR Protocol error: a command must be an array of bulk strings\r\n',
    ]);
    expect(await (await connect()).call('CF.COUNT', name, 'a')).toBe(':2\r\n');
  });

  it('counts the bytes of incomplete commands, and refuses them beyond the limit', async () => {
    const clients = await Promise.all([connect(), connect()]);
    for (const client of clients)
      client.send(`*2\r\n$4\r\nECHO\r\n$${MIB - 100}\r\n`, Buffer.alloc(600_000, 'x'));
    await until('one is refused', async () => clients.some(({ socket }) => socket.readableEnded));
    const [refused, other] = clients[0].socket.readableEnded ? clients : clients.toReversed();
    expect(await refused!.closed()).toEqual([
      `-BUSY the service takes at most ${MIB} bytes of bodies at a time (MAX_BYTES_IN_FLIGHT); retry later\r\n`,
    ]);
    other!.destroy();
    await untilIdle(app);
  });

  it('disconnects a client that doesn’t complete a command in time', async () => {
    const client = await RespClient.connect(slow.respPort);
    expect(await client.call('PING')).toBe('+PONG\r\n');
    expect(await client.send('*2\r\n$4\r\nECHO\r\n$5\r\nab').closed()).toEqual([]);
  });

  it('disconnects a client that sends a command byte by byte for too long', async () => {
    const client = await RespClient.connect(slow.respPort);
    client.send('*2\r\n$4\r\nECHO\r\n$5000\r\n');
    await until('it is disconnected', async () => {
      if (!client.socket.destroyed) client.send('x');
      return client.socket.destroyed;
    });
  });

  it('executes a command that arrives in time while the service pauses', async () => {
    const client = await RespClient.connect(slow.respPort);
    expect(await client.call('PING')).toBe('+PONG\r\n');
    const text = 'x'.repeat(200_000);
    const command = respCommand('ECHO', text);
    client.send(command.subarray(0, 70_000));
    await until(
      'the service reads the command',
      async () => inFlight(slow)['bytes']! > 0 && client.socket.writableLength === 0,
    );
    // The service reads this in several turns of the event loop, with Redis.
    client.send(command.subarray(70_000));
    // The service runs in this thread.
    const end = performance.now() + 600;
    while (performance.now() < end);
    expect(await client.answers(1)).toEqual([`$${text.length}\r\n${text}\r\n`]);
    client.destroy();
  });

  it('disconnects a client that never reads, and counts its unread replies until then', async () => {
    const client = await RespClient.connect(slow.respPort, false);
    const reply = respCommand('ECHO', 'x'.repeat(60_000));
    let sent = 0;
    const send = (): void => {
      while (sent++ < 2_000 && client.socket.write(reply));
    };
    client.socket.on('drain', send);
    send();
    await until('replies wait', async () => inFlight(slow)['answers']! > 0);
    expect(inFlight(slow)['answers']).toBeLessThan(MIB);
    // The client doesn't read, so it can't see the end.
    await until('the connection is closed', async () => {
      const metrics = await (await fetch(`${slow.url}/metrics`)).text();
      return /^unseen_resp_connections 0$/m.test(metrics);
    });
    client.destroy();
    await untilIdle(slow);
  });

  it('closes idle connections when it shuts down, and answers commands that it has begun', async () => {
    const own = await start({ RESP_PORT: '0' });
    const [idle, busy] = [await RespClient.connect(own.respPort), await RespClient.connect(own.respPort)];
    const name = freshName();
    expect(await busy.call('CF.RESERVE', name, '1000')).toBe('+OK\r\n');
    expect(await idle.call('PING')).toBe('+PONG\r\n');
    const items = Array.from({ length: 500 }, (_, i) => respCommand('CF.ADD', name, `item ${i}`));
    busy.send(Buffer.concat(items));
    await busy.answers(1);
    await own.close();
    expect(await idle.closed()).toEqual([]);
    const rest = await busy.closed();
    expect(new Set(rest)).toEqual(new Set([':1\r\n']));
  });

  it('replaces the connection that has been idle longest, of either protocol, once the limit is reached', async () => {
    const own = await start({ RESP_PORT: '0', MAX_CONNECTIONS: '2' });
    try {
      const first = await RespClient.connect(own.respPort);
      expect(await first.call('PING')).toBe('+PONG\r\n');
      const second = await RespClient.connect(own.respPort);
      expect(await second.call('PING')).toBe('+PONG\r\n');
      const third = await RespClient.connect(own.respPort);
      expect(await third.call('PING')).toBe('+PONG\r\n');
      await first.closed();
      expect(await second.call('PING')).toBe('+PONG\r\n');
    } finally {
      await own.close();
    }
  });
});
