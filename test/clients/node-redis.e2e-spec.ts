import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createClient } from 'redis';
import { STORES } from '../e2e/stores.js';
import { freshName, type TestApp } from '../support/app.js';

const connect = async (port: number | undefined, RESP: 2 | 3) => {
  const client = createClient({ socket: { port: port!, host: '127.0.0.1', reconnectStrategy: false }, RESP });
  client.on('error', () => undefined);
  await client.connect();
  return client;
};

describe.each(STORES)('node-redis’ own RedisBloom commands, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start({ RESP_PORT: '0' });
  });
  afterAll(() => app.close());

  describe.each([2, 3] as const)('in RESP %i', (protocol) => {
    let client: Awaited<ReturnType<typeof connect>>;
    beforeAll(async () => {
      client = await connect(app.respPort, protocol);
    });
    afterAll(() => client.close());

    it('fill and query a BF filter', async () => {
      const { bf } = client;
      const name = freshName();
      expect(await bf.reserve(name, 0.01, 1_000)).toBe('OK');
      expect(await bf.add(name, 'a')).toBe(true);
      expect(await bf.mAdd(name, ['a', 'b'])).toEqual([false, true]);
      expect(await bf.insert(name, ['b', 'c'], { CAPACITY: 1_000, ERROR: 0.01 })).toEqual([false, true]);
      expect(await bf.exists(name, 'a')).toBe(true);
      expect(await bf.mExists(name, ['a', 'z'])).toEqual([true, false]);
      expect(await bf.card(name)).toBe(3);
      expect(await bf.info(name)).toMatchObject({ Capacity: 1_000, 'Number of items inserted': 3 });
    });

    it('count the items of a CF filter', async () => {
      const { cf } = client;
      const name = freshName();
      expect(await cf.reserve(name, 1_000, { BUCKETSIZE: 4, MAXITERATIONS: 20 })).toBe('OK');
      expect(await cf.add(name, 'a')).toBe(true);
      expect(await cf.addNX(name, 'a')).toBe(false);
      expect(await cf.insert(name, ['a', 'b'], { CAPACITY: 1_000 })).toEqual([true, true]);
      expect(await cf.insertNX(name, ['a', 'x'])).toEqual([0, 1]);
      expect(await cf.count(name, 'a')).toBe(2);
      expect(await cf.del(name, 'a')).toBe(true);
      expect(await cf.exists(name, 'a')).toBe(true);
      expect(await cf.info(name)).toMatchObject({ 'Number of items deleted': 1 });
    });

    it('pipeline, and refuse a transaction', async () => {
      const name = freshName();
      await client.bf.reserve(name, 0.01, 1_000);
      const pipeline = client.multi().bf.add(name, 'q').bf.exists(name, 'q');
      expect(await pipeline.execAsPipeline()).toEqual([true, true]);
      await expect(client.multi().bf.add(name, 'r').exec()).rejects.toThrow('MULTI is not supported');
      expect(await client.bf.exists(name, 'r')).toBe(false);
      expect(await client.ping()).toBe('PONG');
    });
  });
});
