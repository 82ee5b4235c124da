import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { call, freshName, type TestApp } from '../support/app.js';
import { makeKey, type TestKey } from '../support/credentials.js';
import { RespMetrics, Store } from '../support/in-process.js';
import { RespClient, respCommand } from '../support/resp-client.js';
import { until } from '../support/until.js';
import { STORES } from './stores.js';

/** The number of commands that one turn of the event loop begins at most. */
const COMMANDS_A_TURN = 32;
const MANY = 2_000;
const FLOOD = 30_000;

const NOAUTH = '-NOAUTH send a valid API key or token with AUTH or HELLO\r\n';
const PONG = '+PONG\r\n';

describe.each(STORES)('turns over the Redis protocol, $name store', ({ start }) => {
  let [open, locked] = [] as unknown as [TestApp, TestApp];
  let key: TestKey;
  const clients: RespClient[] = [];
  beforeAll(async () => {
    open = await start({ RESP_PORT: '0' });
    locked = await start({ RESP_PORT: '0', AUTH: 'keys' });
    key = await makeKey(locked, 'read');
  });
  afterAll(async () => {
    for (const client of clients) client.destroy();
    await open.close();
    await locked.close();
  });

  const connect = async (app: TestApp): Promise<RespClient> => {
    const client = await RespClient.connect(app.respPort);
    clients.push(client);
    return client;
  };
  const times = (count: number, ...args: string[]): Buffer =>
    Buffer.concat(new Array<Buffer>(count).fill(respCommand(...args)));

  /** The largest number of commands that a service handles between two turns of the event loop during `act`. */
  const mostBetweenTurns = async (app: TestApp, act: () => Promise<unknown>): Promise<number> => {
    const count = jest.spyOn(app.app.get(RespMetrics), 'count');
    let [running, most] = [true, 0];
    const turns = (async () => {
      for (let before = 0; running; before = count.mock.calls.length) {
        await setImmediate();
        most = Math.max(most, count.mock.calls.length - before);
      }
    })();
    await act().finally(() => (running = false));
    await turns;
    count.mockRestore();
    return most;
  };

  it.each([
    ['unknown commands', ['NO.SUCH'], /^-ERR unknown command/],
    ['commands that have no meaning here', ['GET', 'x'], /^-ERR GET is not supported/],
    ['commands without their arguments', ['CF.ADD', 'x'], /^-ERR wrong number of arguments/],
    ['commands of a refused transaction', ['MULTI'], /^-ERR /],
    ['AUTH', ['AUTH', 'any'], /^\+OK/],
    ['HELLO', ['HELLO', '3'], /^%7/],
    ['RESET', ['RESET'], /^\+RESET/],
    ['PING', ['PING'], /^\+PONG/],
    ['ECHO', ['ECHO', 'x'], /^\$1/],
    ['SELECT', ['SELECT', '0'], /^\+OK/],
    ['CLIENT', ['CLIENT', 'ID'], /^:/],
    ['COMMAND', ['COMMAND'], /^\*0/],
    ['INFO', ['INFO'], /^\$/],
  ])('take a turn for each command: %s', async (_, args, reply) => {
    const client = await connect(open);
    const most = await mostBetweenTurns(open, async () => {
      const replies = await client.send(times(MANY, ...args)).answers(MANY);
      expect(replies.filter((one) => !reply.test(one))).toEqual([]);
    });
    expect(most).toBeLessThanOrEqual(2 * COMMANDS_A_TURN);
  });

  it.each([
    ['commands', ['PING'], NOAUTH],
    ['unknown commands', ['NO.SUCH'], NOAUTH],
    ['wrong keys', ['AUTH', 'wrong'], '-WRONGPASS the key is not valid; send a valid API key or token\r\n'],
    ['HELLO', ['HELLO', '3'], NOAUTH],
  ])('take a turn for each command of a client without a key: %s', async (_, args, reply) => {
    const client = await connect(locked);
    const most = await mostBetweenTurns(locked, async () => {
      expect(new Set(await client.send(times(MANY, ...args)).answers(MANY))).toEqual(new Set([reply]));
    });
    expect(most).toBeLessThanOrEqual(2 * COMMANDS_A_TURN);
  });

  it('go to other clients, too, while a client without a key sends many commands in one write', async () => {
    const other = await connect(locked);
    expect(await other.call('AUTH', key.key)).toBe('+OK\r\n');
    const stranger = await connect(locked);
    const first = await stranger.send(times(FLOOD, 'PING')).answers(1);
    const [pong, health] = await Promise.all([other.call('PING'), call(locked, 'GET', '/healthz')]);
    expect(stranger.arrived).toBeLessThan(FLOOD - 1);
    expect([pong, health.status]).toEqual([PONG, 200]);
    const rest = await stranger.answers(FLOOD - 1);
    expect(new Set([...first, ...rest])).toEqual(new Set([NOAUTH]));
  });

  it('send the replies of earlier commands while a later one of the pipeline waits for the store', async () => {
    const client = await connect(open);
    const name = freshName();
    expect(await client.call('CF.RESERVE', name, '1000')).toBe('+OK\r\n');
    const { counters } = open.app.get<Store>(Store);
    const add = counters.add.bind(counters);
    let goOn = (): void => undefined;
    const replied = new Promise<void>((resolve) => (goOn = resolve));
    const adding = jest.spyOn(counters, 'add').mockImplementationOnce(async (...args) => {
      await replied;
      return add(...args);
    });
    const ping = respCommand('PING');
    client.send(Buffer.concat([ping, respCommand('CF.ADD', name, 'a'), ping]));
    expect(await client.answers(1)).toEqual([PONG]);
    expect(client.arrived).toBe(0);
    goOn();
    expect(await client.answers(2)).toEqual([':1\r\n', PONG]);
    adding.mockRestore();
  });

  it('wait for a slow reader before the next command, even if few replies are left to send', async () => {
    const sockets: Socket[] = [];
    const keep = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket);
    subscribe('net.server.socket', keep);
    const client = await connect(open);
    const name = freshName();
    expect(await client.call('CF.RESERVE', name, '1000')).toBe('+OK\r\n');
    unsubscribe('net.server.socket', keep);
    const socket = sockets.find(({ remotePort }) => remotePort === client.socket.localPort)!;
    const { counters } = open.app.get<Store>(Store);
    const add = counters.add.bind(counters);
    // The socket is full when the first command ends. Filling a real one takes megabytes of replies.
    const adding = jest.spyOn(counters, 'add').mockImplementation(async (...args) => {
      const result = await add(...args);
      Object.defineProperty(socket, 'writableNeedDrain', { configurable: true, value: true });
      return result;
    });
    // Not one batch, because the verbs alternate.
    const replies = client.pipeline([
      ['CF.ADD', name, 'a'],
      ['CF.DEL', name, 'a'],
      ['CF.ADD', name, 'b'],
    ]);
    await until('the connection waits for room', async () => socket.listenerCount('drain') > 0);
    const begun = adding.mock.calls.length;
    adding.mockRestore();
    Reflect.deleteProperty(socket, 'writableNeedDrain');
    socket.emit('drain');
    expect(begun).toBe(1);
    expect(await replies).toEqual([':1\r\n', ':1\r\n', ':1\r\n']);
  });
});
