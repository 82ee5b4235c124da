import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { Store } from '../support/in-process.js';
import { Random, SEED } from '../support/random.js';
import { jsonPost, postHead, RawClient } from '../support/raw-client.js';
import { until } from '../support/until.js';
import { createFilter, inFlight, NOTHING, untilIdle } from './in-flight.js';
import { STORES } from './stores.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const TEXT_TYPE = { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' };

describe.each(STORES)('on the $name store', ({ start }) => {
  const REQUESTS = 2_000;
  const CONNECTIONS = 20;

  it(`nothing stays in flight after thousands of requests with every kind of end (SEED=${SEED})`, async () => {
    const app = await start({
      // Long enough that no request times out. A client that sends only part of a body disconnects first.
      REQUEST_TIMEOUT_MS: '600000',
      STREAM_IDLE_MS: '300',
      MAX_REQUESTS_IN_FLIGHT: '12',
      MAX_STREAMS: '4',
    });
    try {
      const items = await createFilter(app);
      const random = new Random();
      const statuses = new Map<number, number>();
      let left = REQUESTS;
      const worker = async (): Promise<void> => {
        while (left-- > 0) {
          const ending = random.pick(ENDINGS);
          const client = await RawClient.connect(app.port);
          const status = await ending(client, items, random);
          client.destroy();
          if (status !== undefined) statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, worker));
      await untilIdle(app);
      expect(inFlight(app)).toEqual(NOTHING);
      expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 404, 415]));
    } finally {
      await app.close();
    }
  });

  // Otherwise, clients that time out and retry would pile up calls.
  it('a batch keeps its place until the store has answered, even if its client has left', async () => {
    const app = await start({ REQUEST_TIMEOUT_MS: '600000' });
    let answer = (): void => undefined;
    try {
      const items = await createFilter(app);
      const { counters } = app.app.get<Store>(Store);
      const add = counters.add.bind(counters);
      const answered = new Promise<void>((resolve) => (answer = resolve));
      const adding = jest.spyOn(counters, 'add').mockImplementationOnce(async (...args) => {
        await answered;
        return add(...args);
      });
      const left = new Promise((resolve) => {
        app.app.getHttpServer().once('connection', (socket: Socket) => socket.once('close', resolve));
      });
      const client = await RawClient.connect(app.port);
      client.send(jsonPost(`${items}/add`, { items: ['a'] }));
      await until('the store has the call', async () => adding.mock.calls.length > 0);
      client.socket.resetAndDestroy();
      await left;
      expect(inFlight(app)).toMatchObject({ requests: 1 });
      answer();
      await untilIdle(app);
      adding.mockRestore();
    } finally {
      answer();
      await app.close();
    }
  });
});

type Ending = (client: RawClient, items: string, random: Random) => Promise<number | undefined>;

const batch = (random: Random) => ({
  items: Array.from({ length: 20 }, () => `${random.below(1e4)}`),
});
const statusOf = async (client: RawClient) => (await client.answer()).status;

/** How a request can end: with an answer, or because the client disconnects. */
const ENDINGS: readonly Ending[] = [
  (client, items, random) => statusOf(client.send(jsonPost(`${items}/add`, batch(random)))),
  (client, items, random) => statusOf(client.send(jsonPost(`${items}/check`, batch(random)))),
  (client, items) => statusOf(client.send(jsonPost(`${items}/add`, { items: [1] }))),
  (client) => statusOf(client.send(jsonPost('/v1/filters/no-such-filter/items/add', { items: ['x'] }))),
  (client, items) =>
    statusOf(client.send(postHead(`${items}/add`, { 'content-type': 'a/b', 'content-length': 2 }), '{}')),
  (client) => statusOf(client.send('BROKEN\r\n\r\n')),
  // The client disconnects during the head, during the body, before the answer, or during the answer.
  async (client, items) => void client.send(postHead(`${items}/add`, JSON_TYPE).slice(0, 40)),
  async (client, items) =>
    void client.send(postHead(`${items}/add`, { ...JSON_TYPE, 'content-length': 99 }), '{"it'),
  async (client, items, random) => {
    client.send(jsonPost(`${items}/add`, batch(random)));
    await sleep(random.below(5));
    return undefined;
  },
  // A connection with several requests breaks.
  async (client, items, random) => {
    for (let i = 0; i < 5; i++) client.send(jsonPost(`${items}/add`, batch(random)));
    await sleep(random.below(5));
    return undefined;
  },
  async (client, items, random) => {
    for (let i = 0; i < 3; i++) client.send(jsonPost(`${items}/check`, batch(random)));
    for (let i = 0; i < 2; i++) await client.answer();
    return statusOf(client);
  },
  // Streams that are complete, broken off, paused for too long, or with a bad line.
  (client, items) =>
    statusOf(client.send(postHead(`${items}/add?results=none`, TEXT_TYPE), '3\r\na\nb\r\n0\r\n\r\n')),
  async (client, items, random) => {
    client.send(postHead(`${items}/add`, TEXT_TYPE), '3\r\na\nb\r\n');
    await sleep(random.below(5));
    return undefined;
  },
  async (client, items, random) =>
    random.below(10) === 0
      ? statusOf(client.send(postHead(`${items}/add`, TEXT_TYPE), '3\r\na\nb\r\n'))
      : undefined,
  async (client, items, random) => {
    const lines = 'x\n'.repeat(2_500);
    client.send(postHead(`${items}/add`, TEXT_TYPE), `${lines.length.toString(16)}\r\n${lines}\r\n`);
    await sleep(random.below(20));
    return undefined;
  },
];
