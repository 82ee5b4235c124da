import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BOTH_STORES } from '../e2e/stores.js';
import { call, freshName, type TestApp } from '../support/app.js';
import { DRIVERS, type Driver } from './drivers.js';

const [A, B, C] = ['https://a.example/', 'https://b.example/', 'https://c.example/'];

interface Entry {
  readonly id: string;
  readonly url: string;
}

/** RESP 3 replies with a map, RESP 2 with alternating names and values. */
function entryOf(reply: unknown): Entry {
  if (!Array.isArray(reply)) return { ...(reply as Entry) };
  const flat: unknown[] = reply;
  const pairs = Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]] as const);
  const entry: unknown = Object.fromEntries(pairs);
  return entry as Entry;
}

describe.each(BOTH_STORES)('a crawl through the Redis protocol, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start({ RESP_PORT: '0' });
  });
  afterAll(() => app.close());

  describe.each(DRIVERS)('by $name', ({ protocol, connect }) => {
    let driver: Driver;
    beforeAll(async () => {
      driver = await connect(app.respPort!);
    });
    afterAll(() => driver.close());

    const unseen = (verb: string, ...args: string[]): Promise<unknown> =>
      driver.call(`UNSEEN.${verb}`, ...args);
    const lease = async (...args: string[]): Promise<Entry[]> =>
      ((await unseen('LEASE', ...args)) as unknown[]).map(entryOf);
    const made = async (): Promise<string> => {
      const name = freshName();
      const set = { name, capacity: 1_000, errorRate: 1e-9 };
      expect((await call(app, 'POST', '/v1/visited-sets', set)).status).toBe(201);
      return name;
    };

    it('discovers, leases, acknowledges, and forgets', async () => {
      const name = await made();
      expect(await unseen('DISCOVER', name, 'URLS', A, 'HTTPS://A.example:443/#x', B)).toEqual([
        ...['new', 'seen', 'new'],
      ]);
      expect(await unseen('VISIT', name, 'urls', C, A)).toEqual(['new', 'seen']);
      expect(await unseen('CHECK', name, 'URLS', C, 'https://d.example/')).toEqual(['seen', 'unseen']);
      const leased = await lease(name, 'MAX', '10', 'SECONDS', '600');
      expect(leased).toEqual([
        { id: expect.any(String), url: A, attempt: 1 },
        { id: expect.any(String), url: B, attempt: 1 },
      ]);
      expect(await lease(name)).toEqual([]);
      const ids = leased.map(({ id }) => id);
      expect(await unseen('EXTEND', name, 'SECONDS', '700', 'IDS', ...ids)).toEqual(['extended', 'extended']);
      expect(await unseen('RELEASE', name, 'NOCOUNT', 'IDS', ids[1]!)).toEqual(['released']);
      expect(await unseen('ACK', name, 'IDS', ids[0]!, 'no id')).toEqual(['acked', 'unknown']);
      expect(await lease(name)).toMatchObject([{ url: B, attempt: 1 }]);
      expect(await unseen('FORGET', name, 'URLS', A, B, 'https://d.example/')).toEqual([
        ...['forgotten', 'forgotten', 'absent'],
      ]);
      expect(await unseen('DISCOVER', name, 'URLS', A, C)).toEqual(['new', 'seen']);
      expect(await lease(name, 'MAX', '10')).toMatchObject([{ url: A }]);
    });

    it('pipelines SADD and SREM, and reports errors', async () => {
      const name = await made();
      const urls = Array.from({ length: 200 }, (_, n) => `https://example.org/${n}`);
      await driver.pipeline(urls.map((url) => ['SADD', name, url]));
      expect(await driver.call('SCARD', name)).toBe(200);
      await driver.pipeline(
        urls.slice(50).flatMap((url) => [
          ['SREM', name, url],
          ['SISMEMBER', name, url],
        ]),
      );
      expect(await driver.call('SMISMEMBER', name, ...urls)).toEqual(urls.map((_, n) => (n < 50 ? 1 : 0)));
      await expect(driver.call('SADD', freshName(), A)).rejects.toThrow('ERR not found: visited set');
      await expect(
        driver.pipeline([
          ['SADD', name, A],
          ['GET', name],
        ]),
      ).rejects.toThrow();
      expect(await driver.call('SISMEMBER', name, A)).toBe(1);
    });

    it('counts the items of a CF filter, and gets the booleans of the protocol', async () => {
      const name = freshName();
      const [yes, no] = protocol === 3 ? [true, false] : [1, 0];
      expect(await driver.call('CF.RESERVE', name, '1000')).toBe('OK');
      expect(await driver.call('CF.ADD', name, 'a')).toBe(yes);
      expect(await driver.call('CF.ADDNX', name, 'a')).toBe(no);
      expect(await driver.call('CF.INSERT', name, 'ITEMS', 'a', 'b')).toEqual([yes, yes]);
      expect(await driver.call('CF.COUNT', name, 'a')).toBe(2);
      expect(await driver.call('CF.DEL', name, 'b')).toBe(yes);
      expect(await driver.call('CF.MEXISTS', name, 'a', 'b')).toEqual([yes, no]);
    });
  });
});
