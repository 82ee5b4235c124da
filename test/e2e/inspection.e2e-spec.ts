import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { call, freshName, startApp, type Answer, type TestApp } from '../support/app.js';
import { makeKey, type TestKey } from '../support/credentials.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { STORES } from './stores.js';

interface Found {
  readonly item?: string;
  readonly url?: string;
  readonly key?: string;
  readonly invalid?: string;
  readonly rules?: readonly { rule: string; before: string; after: string }[];
  readonly answer?: 'seen' | 'unseen';
  readonly hidden?: boolean;
  readonly layers?: readonly {
    readonly layer: number;
    readonly cell: string;
    readonly claims: boolean;
    readonly redisKey?: string;
    readonly expires?: string;
    readonly counters: readonly { index: number; value: number }[];
  }[];
}

interface Counters {
  readonly layers: readonly {
    readonly pages: number;
    readonly sampledPages: number;
    readonly values: readonly number[];
  }[];
}

const FILTER = { type: 'counting', capacity: 1_000, errorRate: 1e-3 };
const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

describe.each(STORES)('filters’ cells, $name store', ({ name: store, start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  const send = (method: string, path: string, body?: unknown): Promise<Answer> =>
    call(app, method, path, body);
  const makeFilter = async (options: object = {}): Promise<string> => {
    const name = freshName();
    expect(await send('POST', '/v1/filters', { ...FILTER, name, ...options })).toMatchObject({ status: 201 });
    return name;
  };
  const makeSet = async (options: object = {}): Promise<string> => {
    const name = freshName('set');
    expect(await send('POST', '/v1/visited-sets', { name, capacity: 1_000, ...options })).toMatchObject({
      status: 201,
    });
    return name;
  };
  const explainItems = async (name: string, items: readonly string[]): Promise<readonly Found[]> => {
    const { status, body } = await send('POST', `/v1/filters/${name}/items/explain`, { items });
    expect(status).toBe(200);
    return (body as { items: Found[] }).items;
  };
  const explainUrls = async (name: string, urls: readonly string[]): Promise<readonly Found[]> => {
    const { status, body } = await send('POST', `/v1/visited-sets/${name}/urls/explain`, { urls });
    expect(status).toBe(200);
    return (body as { urls: Found[] }).urls;
  };
  const counters = async (path: string): Promise<Counters> => {
    const { status, body } = await send('GET', `/v1/${path}/counters`);
    expect(status).toBe(200);
    return body as Counters;
  };

  it('explain for each item in a request, in order, why it is present or absent', async () => {
    const name = await makeFilter({ semantics: 'multiset' });
    await send('POST', `/v1/filters/${name}/items/add`, { items: ['a', 'a', 'b'] });
    const found = await explainItems(name, ['b', 'a', 'absent', 'a']);
    expect(found.map(({ item, answer }) => [item, answer])).toEqual([
      ['b', 'seen'],
      ['a', 'seen'],
      ['absent', 'unseen'],
      ['a', 'seen'],
    ]);
    const { body } = await send('GET', `/v1/filters/${name}`);
    const { geometry } = body as { geometry: { hashes: number } };
    const values = found.map(({ layers }) => layers!.map(({ counters: some }) => some.map((c) => c.value)));
    expect(values[1]).toEqual([Array(geometry.hashes).fill(2)]);
    expect(values[3]).toEqual(values[1]);
    expect(found[1]!.layers).toMatchObject([{ layer: 0, cell: 'u4', claims: true }]);
    expect(found[2]!.layers![0]!.claims).toBe(false);
    expect('redisKey' in found[0]!.layers![0]!).toBe(store === 'redis');
    expect(await explainItems(name, [])).toEqual([]);
  });

  it('of a standard filter are bits', async () => {
    const name = await makeFilter({ type: 'standard' });
    await send('POST', `/v1/filters/${name}/items/add`, { items: ['a', 'a'] });
    const [found] = await explainItems(name, ['a']);
    expect(found).toMatchObject({ answer: 'seen', layers: [{ cell: 'u1', claims: true }] });
    expect(new Set(found!.layers![0]!.counters.map(({ value }) => value))).toEqual(new Set([1]));
    const { layers } = await counters(`filters/${name}`);
    const [{ values }] = layers as [Counters['layers'][0]];
    expect([values.length, values[1]]).toEqual([2, found!.layers![0]!.counters.length]);
  });

  it('are explained and sampled in every layer', async () => {
    const name = await makeFilter({ capacity: 100, growth: 'auto' });
    const items = Array.from({ length: 500 }, (_, n) => `item ${n}`);
    await send('POST', `/v1/filters/${name}/items/add`, { items });
    const { body } = await send('GET', `/v1/filters/${name}`);
    const described = body as { layers: { fill: number }[] };
    const found = await explainItems(name, items.slice(-100));
    expect(found.every(({ answer }) => answer === 'seen')).toBe(true);
    expect(found.map(({ layers }) => layers!.length)).toEqual(Array(100).fill(described.layers.length));
    const { layers } = await counters(`filters/${name}`);
    const fills = layers.map(({ values }) => 1 - values[0]! / sumOf(values));
    expect(fills).toEqual(described.layers.map(({ fill }) => expect.closeTo(fill, 9)));
  });

  it('show the rules that made a URL’s key, and its counters', async () => {
    const name = await makeSet({ urlProfile: { stripTracking: true } });
    const url = 'HTTP://Example.org:80/%7Ea?utm_source=x&b=2&a=1#top';
    await send('POST', `/v1/visited-sets/${name}/urls/visit`, { urls: ['http://example.org/~a?a=1&b=2'] });
    const [seen, unseen, invalid, again] = await explainUrls(name, [url, 'http://a.b/', 'mailto:x', url]);
    expect(seen).toMatchObject({ url, key: 'http://example.org/~a?a=1&b=2', answer: 'seen' });
    expect(seen!.rules!.map(({ rule }) => rule)).toEqual(['S2', 'S12', 'S6', 'stripTracking', 'S11']);
    expect(seen!.rules![0]!.before).toBe(url);
    expect(seen!.rules!.at(-1)!.after).toBe(seen!.key);
    expect(unseen).toMatchObject({ key: 'http://a.b/', rules: [], answer: 'unseen' });
    expect(invalid).toEqual({ url: 'mailto:x', invalid: 'scheme not http or https' });
    expect(again).toEqual(seen);
    const tooLong = `http://a.b/${'x'.repeat(9_000)}`;
    expect(await explainUrls(name, [tooLong])).toEqual([{ url: tooLong, invalid: 'too long' }]);
  });

  it('show expiry times in a set that ages, and count live counters', async () => {
    const name = await makeSet({ maxAgeSeconds: 86_400 });
    const before = Date.now();
    await send('POST', `/v1/visited-sets/${name}/urls/visit`, { urls: ['http://a.b/'] });
    const [found] = await explainUrls(name, ['http://a.b/']);
    expect(found).toMatchObject({ answer: 'seen', layers: [{ cell: 'u8', claims: true }] });
    const left = Date.parse(found!.layers![0]!.expires!) - before;
    expect(left).toBeGreaterThanOrEqual(86_400_000);
    expect(left).toBeLessThan(86_400_000 * (14.1 / 13));
    const { layers } = await counters(`visited-sets/${name}`);
    const [{ values }] = layers as [Counters['layers'][0]];
    expect(sumOf(values.slice(1))).toBe(found!.layers![0]!.counters.length);
  });

  it('are sampled in a large filter, within limits', async () => {
    const name = await makeFilter({ capacity: 1_000_000 });
    await send('POST', `/v1/filters/${name}/items/add`, { items: ['a'] });
    const { layers } = await counters(`filters/${name}`);
    expect(layers).toHaveLength(1);
    expect(layers[0]!.sampledPages).toBe(256);
    expect(layers[0]!.pages).toBeGreaterThan(10_000);
  });

  it.each<[unknown, string]>([
    [{}, 'is missing; it must be an array of strings'],
    [[], 'must be a JSON object'],
    ['"a"', 'must be a JSON object'],
    [{ items: 'a' }, 'must be an array of strings, not "a"'],
    [{ items: [1] }, 'must be a string'],
    [{ items: [''] }, 'must not be empty'],
    [{ items: ['\ud800'] }, 'well-formed'],
    [{ items: [null] }, 'must be a string'],
    [{ items: ['a'], deep: true }, 'is not a member'],
    [{ items: Array(101).fill('a') }, 'must have at most 100 entries, not 101'],
    [{ items: ['x'.repeat(9_000)] }, 'must have at most 8192 bytes'],
    [{ items: Array(9).fill('x'.repeat(8_000)) }, 'must have at most 65536 characters in total, not 72000'],
  ])('aren’t explained for an invalid body: case %#', async (body, detail) => {
    const name = await makeFilter();
    const answer = await send('POST', `/v1/filters/${name}/items/explain`, body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    expect((answer.body as { detail: string }).detail).toContain(detail);
  });

  it('aren’t explained for streams', async () => {
    const name = await makeFilter();
    const headers = { 'content-type': 'text/plain' };
    const answer = await call(app, 'POST', `/v1/filters/${name}/items/explain`, 'a\n', headers);
    expect(answer).toMatchObject({ status: 415 });
  });

  it('answer 404 for an unknown name or the other kind', async () => {
    const [filter, set] = [await makeFilter(), await makeSet()];
    const calls: [string, string, object | undefined, string][] = [
      ['GET', `/v1/filters/${set}/counters`, undefined, 'FILTER_NOT_FOUND'],
      ['GET', `/v1/visited-sets/${filter}/counters`, undefined, 'VISITED_SET_NOT_FOUND'],
      ['POST', `/v1/filters/${set}/items/explain`, { items: ['a'] }, 'FILTER_NOT_FOUND'],
      ['POST', `/v1/visited-sets/${filter}/urls/explain`, { urls: ['http://a.b/'] }, 'VISITED_SET_NOT_FOUND'],
      ['POST', '/v1/filters/nothing/items/explain', { items: [] }, 'FILTER_NOT_FOUND'],
      ['POST', '/v1/visited-sets/nothing/urls/explain', { urls: ['no URL'] }, 'VISITED_SET_NOT_FOUND'],
    ];
    for (const [method, path, body, code] of calls) {
      expect([path, await send(method, path, body)]).toMatchObject([path, { status: 404, body: { code } }]);
    }
  });

  it('belong to the new generation after a clear', async () => {
    const name = await makeFilter();
    await send('POST', `/v1/filters/${name}/items/add`, { items: ['a'] });
    await send('POST', `/v1/filters/${name}/clear`);
    expect((await explainItems(name, ['a']))[0]!.answer).toBe('unseen');
    expect(sumOf((await counters(`filters/${name}`)).layers[0]!.values.slice(1))).toBe(0);
  });
});

describe('access to cells', () => {
  let app: TestApp;
  let ops: TestKey;
  beforeAll(async () => {
    app = await startApp();
    ops = await makeKey(app, 'admin');
    await call(app, 'POST', '/v1/filters', { ...FILTER, name: 'acme-f' }, ops.headers);
  });
  afterAll(() => app.close());

  const statuses = async ({ headers }: TestKey): Promise<number[]> => {
    const explained = await call(app, 'POST', '/v1/filters/acme-f/items/explain', { items: ['a'] }, headers);
    const counted = await call(app, 'GET', '/v1/filters/acme-f/counters', undefined, headers);
    return [explained.status, counted.status];
  };

  it('needs the scope admin for explanations, read for counts, and a matching prefix', async () => {
    expect(await statuses(ops)).toEqual([200, 200]);
    expect(await statuses(await makeKey(app, 'write'))).toEqual([403, 200]);
    expect(await statuses(await makeKey(app, 'read'))).toEqual([403, 200]);
    expect(await statuses(await makeKey(app, 'admin', { prefix: 'acme-' }))).toEqual([200, 200]);
    expect(await statuses(await makeKey(app, 'admin', { prefix: 'beta-' }))).toEqual([404, 404]);
  });
});

describe('cells in Redis', () => {
  let redis: RedisServer;
  let app: TestApp;
  let client: Redis;
  beforeAll(async () => {
    redis = await startRedis();
    app = await startApp({ REDIS_URL: redis.url });
    client = new Redis(redis.url);
  });
  afterAll(async () => {
    await app.close();
    client.disconnect();
    await redis.stop();
  });

  it.each(['counting', 'standard'])('are at the Redis keys that the explanation names: %s', async (type) => {
    const name = freshName();
    await call(app, 'POST', '/v1/filters', { ...FILTER, type, name });
    await call(app, 'POST', `/v1/filters/${name}/items/add`, { items: ['a'] });
    const { body } = await call(app, 'POST', `/v1/filters/${name}/items/explain`, { items: ['a'] });
    const [{ redisKey, cell, counters }] = (body as { items: Found[] }).items[0]!.layers as unknown as [
      { redisKey: string; cell: string; counters: { index: number; value: number }[] },
    ];
    for (const { index, value } of counters) {
      expect(await client.call('BITFIELD_RO', redisKey, 'GET', cell, `#${index}`)).toEqual([value]);
    }
  });

  it.each(['missing', 'short', 'of another generation'])(
    'that are %s count as lost, never as zero',
    async (how) => {
      const name = freshName();
      await call(app, 'POST', '/v1/filters', { ...FILTER, name });
      await call(app, 'POST', `/v1/filters/${name}/items/add`, { items: ['a'] });
      const { body } = await call(app, 'GET', `/v1/filters/${name}`);
      const { generation } = body as { generation: string };
      const [cells] = await client.keys(`unseen:{${generation}.*}:cells`);
      if (how === 'missing') await client.unlink(cells!);
      else if (how === 'short') await client.set(cells!, await client.getrangeBuffer(cells!, 0, -2));
      else await client.hset(cells!.replace(/cells$/, 'meta'), 'generation', '0123456789abcdef');
      const lost = { status: 503, body: { code: 'STORE_DATA_LOST' } };
      const explain = `/v1/filters/${name}/items/explain`;
      expect(await call(app, 'POST', explain, { items: ['a'] })).toMatchObject(lost);
      expect(await call(app, 'GET', `/v1/filters/${name}/counters`)).toMatchObject(lost);
    },
  );
});
