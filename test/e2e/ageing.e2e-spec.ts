import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, type TestApp } from '../support/app.js';
import { Synced } from '../support/synced.js';
import { STORES } from './stores.js';

const DAY = 86_400;
const url = (n: number | string): string => `https://example.org/${n}`;
const urls = (count: number): string[] => Array.from({ length: count }, (_, n) => url(n));
const refused = (status: number, code: string, detail: unknown = expect.anything()) => ({
  status,
  body: { code, detail },
});

interface AgeBody {
  readonly epoch: number;
  readonly epochSeconds: number;
  readonly expiring: readonly { readonly at: string; readonly items: number }[];
  readonly hidden: number;
}

describe.each(STORES)('visited sets that age over HTTP, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  it('show their age, their epoch, and how many URLs expire when', async () => {
    const before = app.now();
    const set = await Synced.visitedSet(app, { maxAgeSeconds: 13 * DAY });
    expect(await set.batch('visit', urls(200))).toEqual(urls(200).map(() => 'new'));
    const hour = await set.send('POST', '/urls/discover', { urls: [url('hour')], ttlSeconds: 3_600 });
    expect(hour).toMatchObject({ status: 200, body: { results: ['new'] } });
    const described = await set.describe();
    const age = described['age'] as AgeBody;
    expect(described).toMatchObject({ maxAgeSeconds: 13 * DAY, queue: { waiting: 1 } });
    expect(age).toMatchObject({ epochSeconds: DAY, hidden: 0 });
    expect(Math.abs(age.epoch - Math.floor(before / (DAY * 1_000)))).toBeLessThan(2);
    expect(Math.abs(described.items - 201)).toBeLessThan(20);
    const inDays = age.expiring.map(({ at }) => (Date.parse(at) - before) / (DAY * 1_000));
    for (const [n, { items }] of age.expiring.entries()) {
      expect([inDays[n]! > 0 && inDays[n]! < 15, items > 0]).toEqual([true, true]);
    }
    const last = age.expiring.at(-1)!;
    expect(Math.abs(last.items - 200)).toBeLessThan(20);
    expect(inDays.at(-1)).toBeGreaterThan(12);
    const { body } = await call(app, 'GET', '/v1/visited-sets?limit=1000');
    const { visitedSets } = body as { visitedSets: { name: string; maxAgeSeconds?: number }[] };
    expect(visitedSets.find(({ name }) => name === set.name)?.maxAgeSeconds).toBe(13 * DAY);
  });

  it('forget URLs by age and on request', async () => {
    const set = await Synced.visitedSet(app, { maxAgeSeconds: DAY });
    const { epochSeconds } = (await set.describe())['age'] as AgeBody;
    const all = ['long', 'short', 'gone'].map(url);
    await set.batch('visit', ['long', 'gone'].map(url));
    await set.send('POST', '/urls/visit?ttlSeconds=600', { urls: [url('short')] });
    expect(await set.batch('forget', [url('gone'), url('gone')])).toEqual(['forgotten', 'absent']);
    expect(await set.batch('check', all)).toEqual(['seen', 'seen', 'unseen']);
    app.advance((600 + epochSeconds) * 1_000);
    expect(await set.batch('check', all)).toEqual(['seen', 'unseen', 'unseen']);
    expect(await set.batch('visit', [url('short')])).toEqual(['new']);
    // A little less than the age, so that the last URL has time left.
    app.advance((DAY - 300) * 1_000);
    expect(await set.batch('check', all)).toEqual(['unseen', 'seen', 'unseen']);
  });

  it('age by the clock of the service that imports them', async () => {
    const set = await Synced.visitedSet(app, { maxAgeSeconds: 13 * DAY });
    app.advance(3 * DAY * 1_000);
    await set.batch('visit', urls(5));
    const file = await fetch(`${app.url}${set.path}/export`);
    const answer = await fetch(`${app.url}/v1/visited-sets/import?name=${freshName()}`, {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.unseen.filter' },
      body: await file.arrayBuffer(),
    });
    expect([answer.status, await answer.json()]).toEqual([201, expect.anything()]);
  });

  it('take a stream’s time to live from its query', async () => {
    const set = await Synced.visitedSet(app, { maxAgeSeconds: 13 * DAY });
    const answer = await fetch(`${app.url}${set.path}/urls/visit?ttlSeconds=60&results=none`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: `${urls(50).join('\n')}\n`,
    });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"new":50')]);
    const { expiring } = (await set.describe())['age'] as AgeBody;
    const end = app.now() + 2 * DAY * 1_000;
    for (const { at } of expiring) expect(Date.parse(at)).toBeLessThan(end);
  });

  it('refuse a different time to live with the same operation key', async () => {
    const set = await Synced.visitedSet(app, { maxAgeSeconds: DAY });
    const visit = (ttl: number) =>
      set.send('POST', `/urls/visit?ttlSeconds=${ttl}`, { urls: [url(1)] }, 'one-key');
    expect(await visit(60)).toMatchObject({ status: 200, body: { results: ['new'] } });
    expect(await visit(60)).toMatchObject({ status: 200, body: { results: ['new'] } });
    expect(await visit(61)).toMatchObject(refused(422, 'IDEMPOTENCY_KEY_REUSED'));
  });

  it.each([
    ['beyond the age', { ttlSeconds: 86_401 }, 'ttlSeconds must be at most 86400, the maxAgeSeconds of'],
    ['zero', { ttlSeconds: 0 }, 'ttlSeconds must be a whole number from 1, not 0'],
    ['a fraction', { ttlSeconds: 1.5 }, 'ttlSeconds must be a whole number from 1, not 1.5'],
    ['a text', { ttlSeconds: '60' }, 'ttlSeconds must be a whole number from 1, not "60"'],
    ['null', { ttlSeconds: null }, 'ttlSeconds must be a whole number from 1, not null'],
  ])('refuse a time to live that is %s, naming the limit, and visit nothing', async (_, body, detail) => {
    const set = await Synced.visitedSet(app, { maxAgeSeconds: DAY });
    expect(await set.send('POST', '/urls/visit', { urls: [url(1)], ...body })).toMatchObject(
      refused(400, 'VALIDATION_FAILED', expect.stringContaining(detail)),
    );
    const line = await fetch(`${app.url}${set.path}/urls/visit?ttlSeconds=${String(body.ttlSeconds)}x`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: `${url(1)}\n`,
    });
    expect([line.status, await line.text()]).toEqual([400, expect.stringContaining('ttlSeconds')]);
    expect(await set.batch('check', [url(1)])).toEqual(['unseen']);
  });

  it('take one time to live, which sets without an age refuse', async () => {
    const plain = await Synced.visitedSet(app);
    expect(await plain.send('POST', '/urls/visit', { urls: [url(1)], ttlSeconds: 60 })).toMatchObject(
      refused(400, 'VALIDATION_FAILED', expect.stringContaining('has no maxAgeSeconds')),
    );
    const set = await Synced.visitedSet(app, { maxAgeSeconds: DAY });
    expect(
      await set.send('POST', '/urls/visit?ttlSeconds=60', { urls: [url(1)], ttlSeconds: 60 }),
    ).toMatchObject(refused(400, 'VALIDATION_FAILED', expect.stringContaining('not both')));
    expect(await set.send('POST', '/urls/check', { urls: [url(1)], ttlSeconds: 60 })).toMatchObject(
      refused(400, 'VALIDATION_FAILED'),
    );
  });

  it('keep their age: creation again with a different age is refused', async () => {
    const name = freshName('age');
    const make = (maxAgeSeconds?: number) =>
      call(app, 'POST', '/v1/visited-sets', { name, capacity: 100, maxAgeSeconds });
    expect(await make(60)).toMatchObject({ status: 201, body: { maxAgeSeconds: 60 } });
    expect(await make(60)).toMatchObject({ status: 200, body: { maxAgeSeconds: 60 } });
    expect(await make(61)).toMatchObject(refused(409, 'FILTER_EXISTS'));
    expect(await make()).toMatchObject(refused(409, 'FILTER_EXISTS'));
    for (const age of [9, 315_576_001, 10.5, '60'])
      expect(
        await call(app, 'POST', '/v1/visited-sets', { name, capacity: 100, maxAgeSeconds: age }),
      ).toMatchObject(refused(400, 'VALIDATION_FAILED', expect.stringContaining('from 10 to 315576000')));
  });

  it('plan what an age costs, which only visited sets can have', async () => {
    const plan = async (more: object) => {
      const { body } = await call(app, 'POST', '/v1/plan', {
        ...{ type: 'counting', capacity: 1_000_000, errorRate: 1e-4, growth: 'auto', ...more },
      });
      return body as { memoryBytes: number; maxAgeSeconds?: number };
    };
    const [plain, ageing] = [await plan({}), await plan({ maxAgeSeconds: DAY })];
    expect(ageing.maxAgeSeconds).toBe(DAY);
    expect(ageing.memoryBytes / plain.memoryBytes).toBeGreaterThan(2);
    expect(ageing.memoryBytes / plain.memoryBytes).toBeLessThan(2.1);
    expect(await plan({ type: 'standard', maxAgeSeconds: DAY })).toMatchObject({ code: 'VALIDATION_FAILED' });
    const filter = {
      name: freshName(),
      type: 'counting',
      capacity: 100,
      errorRate: 0.01,
      maxAgeSeconds: DAY,
    };
    expect(await call(app, 'POST', '/v1/filters', filter)).toMatchObject(refused(400, 'VALIDATION_FAILED'));
  });
});
