import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { call, freshName, startApp, type Answer, type TestApp } from '../support/app.js';
import { HistorySampler } from '../support/in-process.js';
import { makeKey } from '../support/credentials.js';
import { STORES } from './stores.js';

interface History {
  readonly watched: boolean;
  readonly since: string;
  readonly intervalSeconds: number;
  readonly points: readonly {
    readonly at: string;
    readonly items: number;
    readonly fill: number;
    readonly estimatedErrorRate: number;
    readonly added: number;
    readonly queue?: Record<string, number>;
  }[];
}

const FILTER = { type: 'counting', capacity: 1_000, errorRate: 1e-3 };

describe.each(STORES)('filters’ histories, $name store', ({ start }) => {
  let app: TestApp;
  let round: (slotMs: number) => Promise<void>;
  beforeAll(async () => {
    app = await start();
    const sampler = app.app.get(HistorySampler);
    round = sampler.round.bind(sampler);
    // Only the tests take samples. The service's own first round may still be in progress.
    jest.spyOn(sampler, 'round').mockResolvedValue();
    await round(0);
  });
  afterAll(() => app.close());

  const send = (method: string, path: string, body?: unknown): Promise<Answer> =>
    call(app, method, path, body);
  const history = async (path: string): Promise<History> => {
    const { status, body } = await send('GET', `/v1/${path}`);
    expect(status).toBe(200);
    return body as History;
  };
  /** Takes a sample, as a minute later. */
  const sample = async (): Promise<void> => {
    await round(0);
  };

  it('has points that match a filter’s description', async () => {
    const name = freshName();
    await send('POST', '/v1/filters', { ...FILTER, name });
    expect(await history(`filters/${name}/history`)).toMatchObject({ watched: true, points: [] });
    await send('POST', `/v1/filters/${name}/items/add`, { items: ['a', 'b'] });
    await send('POST', `/v1/filters/${name}/items/add`, { items: ['a'] });
    await sample();
    await send('POST', `/v1/filters/${name}/items/remove`, { items: ['a', 'x'] });
    await sample();
    const { watched, since, intervalSeconds, points } = await history(`filters/${name}/history`);
    expect([watched, intervalSeconds]).toEqual([true, 60]);
    expect(Date.parse(points[0]!.at)).toBe(Date.parse(since));
    const { body } = await send('GET', `/v1/filters/${name}`);
    const { fill, estimatedErrorRate } = body as History['points'][0];
    const { at, ...last } = points.at(-1)!;
    const now = Date.now();
    expect(Date.parse(at)).toBeLessThanOrEqual(now);
    expect(last).toEqual({
      ...{ items: 1, fill, estimatedErrorRate, added: 2, duplicate: 1, removed: 1, refused: 1 },
    });
    expect(points.map(({ items }) => items)).toContain(2);
    const times = points.map((point) => point.at);
    expect(times).toEqual([...times].sort());
  });

  it('has a visited set’s queue', async () => {
    const name = freshName('set');
    await send('POST', '/v1/visited-sets', { name, capacity: 1_000 });
    await send('POST', `/v1/visited-sets/${name}/urls/discover`, { urls: ['http://a.b/', 'http://a.b/x'] });
    await send('POST', `/v1/visited-sets/${name}/queue/lease`, { max: 1, leaseSeconds: 60 });
    await sample();
    const { points } = await history(`visited-sets/${name}/history?seconds=60`);
    expect(points.at(-1)!.queue).toEqual({ waiting: 1, leased: 1, delayed: 0, scheduled: 0, dead: 0 });
  });

  it('starts again at once after a clear', async () => {
    const name = freshName();
    await send('POST', '/v1/filters', { ...FILTER, name });
    await sample();
    await send('POST', `/v1/filters/${name}/clear`);
    expect(await history(`filters/${name}/history`)).toMatchObject({ watched: true, points: [] });
    await sample();
    expect((await history(`filters/${name}/history`)).points.length).toBeGreaterThan(0);
  });

  it.each(['0', '59', '21601', '1e3', '-60', '', 'x', '60.5', '060', '60&seconds=70'])(
    'refuses a range of %s seconds',
    async (seconds) => {
      const name = freshName();
      await send('POST', '/v1/filters', { ...FILTER, name });
      const answer = await send('GET', `/v1/filters/${name}/history?seconds=${seconds}`);
      expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
      expect(await send('GET', `/v1/filters/${name}/history?other=1`)).toMatchObject({ status: 400 });
    },
  );

  it.each(['60', '99', '100', '9999', '10000', '20999', '21599', '21600'])(
    'accepts a range of %s seconds',
    async (seconds) => {
      const name = freshName();
      await send('POST', '/v1/filters', { ...FILTER, name });
      await sample();
      const asked = Date.now();
      const { points, since } = await history(`filters/${name}/history?seconds=${seconds}`);
      expect(points.length).toBeGreaterThan(0);
      expect(Date.parse(since)).toBeGreaterThanOrEqual(asked - Number(seconds) * 1_000);
    },
  );

  it('answers 404 for an unknown name or the other kind', async () => {
    const name = freshName();
    await send('POST', '/v1/filters', { ...FILTER, name });
    expect(await send('GET', `/v1/visited-sets/${name}/history`)).toMatchObject({
      ...{ status: 404, body: { code: 'VISITED_SET_NOT_FOUND' } },
    });
    await sample();
    await send('DELETE', `/v1/filters/${name}`);
    expect(await send('GET', `/v1/filters/${name}/history`)).toMatchObject({
      ...{ status: 404, body: { code: 'FILTER_NOT_FOUND' } },
    });
  });
});

describe('access to a history', () => {
  it('needs the scope read and a matching prefix', async () => {
    const app = await startApp();
    try {
      const { headers } = await makeKey(app, 'admin');
      await call(app, 'POST', '/v1/filters', { ...FILTER, name: 'acme-f' }, headers);
      const status = async (prefix: string): Promise<number> => {
        const reader = await makeKey(app, 'read', { prefix });
        return (await call(app, 'GET', '/v1/filters/acme-f/history', undefined, reader.headers)).status;
      };
      expect([await status('acme-'), await status('beta-')]).toEqual([200, 404]);
      expect((await call(app, 'GET', '/v1/filters/acme-f/history')).status).toBe(401);
    } finally {
      await app.close();
    }
  });
});
