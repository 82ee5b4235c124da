import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { call, freshName, type TestApp } from '../support/app.js';
import { Store } from '../support/in-process.js';
import { RespClient, respCommand } from '../support/resp-client.js';
import { untilIdle } from './in-flight.js';
import { leasesWaiting } from './leases-waiting.js';
import { BOTH_STORES } from './stores.js';

const [A, B] = ['https://a.example/', 'https://b.example/'];
const NONE = '*0\r\n';
const NEW = '*1\r\n$3\r\nnew\r\n';
/** The service sends replies at this interval while commands run. */
const FLUSH_MS = 50;

describe.each(BOTH_STORES)('UNSEEN.LEASE with BLOCK, $name store', ({ start }) => {
  let app: TestApp;
  const clients: RespClient[] = [];
  beforeAll(async () => {
    app = await start({ RESP_PORT: '0' });
  });
  afterAll(async () => {
    for (const client of clients) client.destroy();
    await app.close();
  });

  const connect = async (): Promise<RespClient> => {
    const client = await RespClient.connect(app.respPort);
    clients.push(client);
    return client;
  };
  const made = async (): Promise<string> => {
    const name = freshName();
    expect((await call(app, 'POST', '/v1/visited-sets', { name, capacity: 1_000 })).status).toBe(201);
    return name;
  };
  const block = (name: string): string[] => ['UNSEEN.LEASE', name, 'BLOCK', '30000'];
  const discover = async (name: string, url: string): Promise<void> =>
    expect(await (await connect()).call('UNSEEN.DISCOVER', name, 'URLS', url)).toBe(NEW);
  /**
   * Checks that waits in `act` end early, and not by a timeout: a wait that began before them still waits afterwards.
   */
  const whileAnotherWaits = async (act: () => Promise<void>): Promise<void> => {
    const [name, client] = [await made(), await connect()];
    const reply = client.call(...block(name));
    await leasesWaiting(app, 1);
    await act();
    await leasesWaiting(app, 1);
    await discover(name, A);
    expect(await reply).toContain(A);
  };

  it('waits for a URL, in turn, while other connections go on', async () => {
    const name = await made();
    const [one, other] = [await connect(), await connect()];
    one.send(respCommand('PING'), respCommand(...block(name)));
    await leasesWaiting(app, 1);
    const later = other.pipeline([block(name), ['PING']]);
    await leasesWaiting(app, 2);
    await untilIdle(app);
    // Replies to earlier commands don't wait.
    expect(await one.answers(1)).toEqual(['+PONG\r\n']);
    await discover(name, A);
    expect(await one.answers(1)).toEqual([expect.stringContaining(A)]);
    await leasesWaiting(app, 1);
    expect(other.arrived).toBe(0);
    await discover(name, B);
    expect(await later).toEqual([expect.stringContaining(B), '+PONG\r\n']);
  });

  it('is answered while the next command of the pipeline waits for the store', async () => {
    const [set, filter, client] = [await made(), freshName(), await connect()];
    expect(await client.call('CF.RESERVE', filter, '1000')).toBe('+OK\r\n');
    const { counters } = app.app.get<Store>(Store);
    const add = counters.add.bind(counters);
    let goOn = (): void => undefined;
    const replied = new Promise<void>((resolve) => (goOn = resolve));
    const adding = jest.spyOn(counters, 'add').mockImplementation(async (target, ...rest) => {
      if (target.name === filter) await replied;
      return add(target, ...rest);
    });
    try {
      client.send(Buffer.concat([respCommand(...block(set)), respCommand('CF.ADD', filter, 'a')]));
      await leasesWaiting(app, 1);
      // The service stops its timer during the wait, and this timer fires after that one.
      await setTimeout(FLUSH_MS + 1);
      await discover(set, A);
      expect(await client.answers(1)).toEqual([expect.stringContaining(A)]);
    } finally {
      goOn();
      adding.mockRestore();
    }
    expect(await client.answers(1)).toEqual([':1\r\n']);
  });

  it('ends when its time is over, and the next command runs', async () => {
    const [name, client] = [await made(), await connect()];
    const replies = client.pipeline([['UNSEEN.LEASE', name, 'BLOCK', '20000'], ['PING']]);
    await leasesWaiting(app, 1);
    app.advance(20_000);
    expect(await replies).toEqual([NONE, '+PONG\r\n']);
  });

  it.each([
    ['RESET', '+RESET\r\n'],
    ['QUIT', '+OK\r\n'],
  ])('ends at %s', async (command, reply) => {
    const [name, client] = [await made(), await connect()];
    await whileAnotherWaits(async () => {
      const replies = client.pipeline([block(name)]);
      await leasesWaiting(app, 2);
      client.send(respCommand(command));
      expect(await replies).toEqual([NONE]);
      expect(await client.answers(1)).toEqual([reply]);
      if (command === 'QUIT') await client.closed();
      expect(await (await connect()).pipeline([block(name), [command]])).toEqual([NONE, reply]);
    });
  });

  it('ends if the client sends much in the meantime', async () => {
    const [name, client] = [await made(), await connect()];
    await whileAnotherWaits(async () => {
      const replies = client.pipeline([block(name)]);
      await leasesWaiting(app, 2);
      const echo = respCommand('ECHO', 'x'.repeat(50_000));
      client.send(echo, echo, echo);
      expect(await replies).toEqual([NONE]);
      expect(await client.answers(3)).toHaveLength(3);
    });
  });

  it.each(['end', 'destroy'] as const)(
    'ends when the client leaves (%s), and leases nothing for it',
    async (how) => {
      const [name, client] = [await made(), await connect()];
      await whileAnotherWaits(async () => {
        client.send(respCommand(...block(name)));
        await leasesWaiting(app, 2);
        // The service must notice that the client leaves, even if input arrived in pieces during the wait.
        for (let pieces = 0; pieces < 3; pieces++) {
          client.send(respCommand('PING'));
          await leasesWaiting(app, 2);
        }
        client.socket[how]();
      });
      await discover(name, A);
      expect(await (await connect()).call('UNSEEN.LEASE', name)).toMatch(
        /^\*1\r\n[^]*a\.example[^]*attempt\r\n:1\r\n$/,
      );
    },
  );

  it('fails when its set is deleted, and the connection goes on', async () => {
    const [name, client] = [await made(), await connect()];
    const replies = client.pipeline([block(name), ['PING']]);
    await leasesWaiting(app, 1);
    expect(await (await connect()).call('DEL', name)).toBe(':1\r\n');
    expect(await replies).toEqual([expect.stringMatching(/^-ERR not found: /), '+PONG\r\n']);
  });
});

describe.each(BOTH_STORES)('UNSEEN.LEASE with BLOCK at shutdown, $name store', ({ start }) => {
  it('ends without URLs', async () => {
    const app = await start({ RESP_PORT: '0' });
    const name = freshName();
    let closed: Promise<void> | undefined;
    try {
      await call(app, 'POST', '/v1/visited-sets', { name, capacity: 100 });
      const client = await RespClient.connect(app.respPort);
      const reply = client.call('UNSEEN.LEASE', name, 'BLOCK', '30000');
      await leasesWaiting(app, 1);
      closed = app.close();
      expect(await reply).toBe(NONE);
      expect(await client.closed()).toEqual([]);
    } finally {
      await (closed ?? app.close());
    }
  });
});
