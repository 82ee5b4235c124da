import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, startApp, type TestApp } from '../support/app.js';
import { STORES } from './stores.js';

describe.each(STORES)('filters over HTTP, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  const create = async (overrides: object = {}): Promise<string> => {
    const name = freshName();
    const body = { name, type: 'counting', capacity: 1_000, errorRate: 0.001, ...overrides };
    expect(await call(app, 'POST', '/v1/filters', body)).toMatchObject({ status: 201 });
    return name;
  };
  const items = async (name: string, verb: string, list: string[]): Promise<unknown> => {
    const { status, body } = await call(app, 'POST', `/v1/filters/${name}/items/${verb}`, { items: list });
    expect(status).toBe(200);
    return body;
  };

  it('shows everything about a new filter except its seed', async () => {
    const name = freshName();
    const spec = { name, type: 'counting', capacity: 1_000, errorRate: 0.01 };
    const { status, headers, body } = await call(app, 'POST', '/v1/filters', spec);
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`/v1/filters/${name}`);
    expect(Object.keys(body as object).sort()).toEqual(
      [
        ...['name', 'type', 'semantics', 'capacity', 'errorRate', 'generation', 'geometry', 'items', 'fill'],
        ...['estimatedErrorRate', 'saturatedCounters', 'overCapacity', 'memoryBytes', 'createdAt'],
        ...['added', 'duplicate', 'removed', 'refused', 'growth', 'layers'],
      ].sort(),
    );
    expect(body).toMatchObject({
      ...spec,
      semantics: 'set',
      generation: expect.stringMatching(/^[0-9a-f]{16}$/),
      geometry: { segments: 1, pageSize: 256, hashes: 6, hashScheme: 2, counters: expect.any(Number) },
      items: 0,
      fill: 0,
      estimatedErrorRate: 0,
      overCapacity: false,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
    expect(Object.keys((body as { geometry: object }).geometry)).toHaveLength(5);
  });

  it('answers 200 if the same filter exists, with defaults filled in, and 409 if a different one exists', async () => {
    const name = await create();
    const same = { name, type: 'counting', capacity: 1_000, errorRate: 0.001, semantics: 'set' };
    expect(await call(app, 'POST', '/v1/filters', same)).toMatchObject({ status: 200, body: { name } });
    for (const other of [
      { capacity: 999 },
      { errorRate: 0.01 },
      { semantics: 'multiset' },
      { type: 'standard' },
      { growth: 'auto' },
    ]) {
      const answer = await call(app, 'POST', '/v1/filters', { ...same, ...other });
      expect(answer).toMatchObject({ status: 409, body: { code: 'FILTER_EXISTS' } });
    }
  });

  it('grows if asked to, within its limit of layers, and shows all layers’ error rates', async () => {
    const spec = { name: freshName(), type: 'counting', capacity: 100, errorRate: 0.01, growth: 'auto' };
    const { status, body: made } = await call(app, 'POST', '/v1/filters', spec);
    expect(status).toBe(201);
    expect(made).toMatchObject({ growth: 'auto', layers: [{ capacity: 100, items: 0, fill: 0 }] });
    const plan = await call(app, 'POST', '/v1/plan', { ...spec, name: undefined });
    const { plannedLayers } = plan.body as { plannedLayers: { capacity: number; memoryBytes: number }[] };
    expect(plannedLayers.map(({ capacity }) => capacity)).toEqual([100, 270, 730, 1_969, 5_315, 14_349]);
    const many = Array.from({ length: 1_000 }, (_, n) => `item ${n}`);
    await items(spec.name, 'add', many);
    const grown = (await call(app, 'GET', `/v1/filters/${spec.name}`)).body as {
      layers: { capacity: number; items: number; estimatedErrorRate: number }[];
      memoryBytes: number;
      estimatedErrorRate: number;
      items: number;
    };
    expect(grown).toMatchObject({
      ...{ capacity: 100, errorRate: 0.01, overCapacity: false },
      layers: [{ items: 100 }, { items: 270 }, { capacity: 730 }],
    });
    const sum = (of: (layer: (typeof grown.layers)[0]) => number): number =>
      grown.layers.reduce((total, layer) => total + of(layer), 0);
    expect(grown.items).toBe(sum((layer) => layer.items));
    expect(grown.memoryBytes).toBe(
      plannedLayers.slice(0, 3).reduce((total, { memoryBytes }) => total + memoryBytes, 0),
    );
    expect(grown.estimatedErrorRate).toBeGreaterThan(0.003);
    expect(grown.estimatedErrorRate).toBeLessThan(0.015);
    expect(grown.estimatedErrorRate).toBeLessThanOrEqual(sum((layer) => layer.estimatedErrorRate));
    expect(await items(spec.name, 'check', many)).toEqual({ results: many.map(() => true) });
    expect(await call(app, 'POST', '/v1/filters', spec)).toMatchObject({ status: 200 });
    for (const growth of ['some', 1, null]) {
      expect(await call(app, 'POST', '/v1/filters', { ...spec, growth })).toMatchObject({
        ...{ status: 400, body: { code: 'VALIDATION_FAILED' } },
      });
    }
  });

  it('adds, checks, removes, and counts, with one result per item in order', async () => {
    const name = await create();
    expect(await items(name, 'add', ['a', 'b', 'a'])).toEqual({ results: [true, true, false] });
    expect(await items(name, 'add', ['b', 'c'])).toEqual({ results: [false, true] });
    expect(await items(name, 'check', ['c', 'x', 'a'])).toEqual({ results: [true, false, true] });
    expect(await items(name, 'count', ['a', 'x'])).toEqual({ results: [1, 0] });
    expect(await items(name, 'remove', ['a', 'x', 'a'])).toEqual({
      results: ['removed', 'absent', 'absent'],
    });
    expect(await items(name, 'check', ['a', 'b'])).toEqual({ results: [false, true] });
    const { body } = await call(app, 'GET', `/v1/filters/${name}`);
    expect(body).toMatchObject({ items: 2, added: 3, removed: 1, refused: 2 });
    const { fill, estimatedErrorRate } = body as { fill: number; estimatedErrorRate: number };
    expect(fill).toBeGreaterThan(0);
    expect(estimatedErrorRate).toBeGreaterThan(0);
    expect(estimatedErrorRate).toBeLessThan(0.001);
  });

  it('counts every add to a multiset', async () => {
    const name = await create({ semantics: 'multiset' });
    expect(await items(name, 'add', ['a', 'a', 'a'])).toEqual({ results: [true, false, false] });
    expect(await items(name, 'count', ['a'])).toEqual({ results: [3] });
    expect(await items(name, 'remove', ['a', 'a'])).toEqual({ results: ['removed', 'removed'] });
    expect(await items(name, 'check', ['a'])).toEqual({ results: [true] });
  });

  it('answers an empty batch with no results, and 404 if the filter doesn’t exist', async () => {
    const name = await create();
    for (const verb of ['add', 'check', 'remove', 'count']) {
      expect(await items(name, verb, [])).toEqual({ results: [] });
      const { status, body } = await call(app, 'POST', `/v1/filters/${freshName()}/items/${verb}`, {
        items: ['a'],
      });
      expect({ status, body }).toMatchObject({ status: 404, body: { code: 'FILTER_NOT_FOUND' } });
    }
  });

  it('doesn’t remove from or count in a standard filter', async () => {
    const name = await create({ type: 'standard' });
    expect(await items(name, 'add', ['a'])).toEqual({ results: [true] });
    expect(await items(name, 'check', ['a', 'b'])).toEqual({ results: [true, false] });
    for (const verb of ['remove', 'count']) {
      for (const type of ['application/json', 'text/plain']) {
        const body = type === 'text/plain' ? 'a\n' : { items: ['a'] };
        const answer = await call(app, 'POST', `/v1/filters/${name}/items/${verb}`, body, {
          'content-type': type,
        });
        expect(answer).toMatchObject({ status: 409, body: { code: 'REMOVAL_UNSUPPORTED' } });
      }
    }
  });

  it('clears into a new generation, deletes, and creates again', async () => {
    const name = await create();
    await items(name, 'add', ['a']);
    const before = (await call(app, 'GET', `/v1/filters/${name}`)).body as { generation: string };
    const cleared = await call(app, 'POST', `/v1/filters/${name}/clear`);
    expect(cleared).toMatchObject({ status: 200, body: { name, items: 0, fill: 0 } });
    expect((cleared.body as { generation: string }).generation).not.toBe(before.generation);
    expect(await items(name, 'add', ['a'])).toEqual({ results: [true] });
    expect(await call(app, 'DELETE', `/v1/filters/${name}`)).toMatchObject({ status: 204, body: undefined });
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/clear'],
    ] as const) {
      const answer = await call(app, method, `/v1/filters/${name}${path}`);
      expect(answer).toMatchObject({ status: 404, body: { code: 'FILTER_NOT_FOUND' } });
    }
  });

  it('lists by name, in pages', async () => {
    const prefix = freshName('list');
    const names = ['c', 'a', 'b'].map((letter) => `${prefix}-${letter}`);
    for (const name of names) await create({ name });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const query = `?limit=2${cursor === undefined ? '' : `&cursor=${cursor}`}`;
      const { body } = await call(app, 'GET', `/v1/filters${query}`);
      const page = body as { filters: { name: string }[]; next?: string };
      expect(page.filters.length).toBeLessThanOrEqual(2);
      seen.push(...page.filters.map(({ name }) => name));
      cursor = page.next;
    } while (cursor !== undefined && seen.length < 1_000);
    expect(seen).toEqual([...seen].sort());
    expect(seen).toEqual(expect.arrayContaining(names));
  });

  it('refuses a whole batch that would exceed twice the capacity', async () => {
    const name = await create({ capacity: 100 });
    const many = (from: number, count: number): string[] =>
      Array.from({ length: count }, (_, i) => `item ${from + i}`);
    await items(name, 'add', many(0, 150));
    const { body } = await call(app, 'GET', `/v1/filters/${name}`);
    expect(body).toMatchObject({ overCapacity: true });
    const full = await call(app, 'POST', `/v1/filters/${name}/items/add`, { items: many(1_000, 80) });
    expect(full).toMatchObject({ status: 507, body: { code: 'FILTER_FULL' } });
    expect((await call(app, 'GET', `/v1/filters/${name}`)).body).toEqual(body);
  });

  it('shares one name space with visited sets', async () => {
    const name = await create();
    const set = { name, capacity: 1_000 };
    expect(await call(app, 'POST', '/v1/visited-sets', set)).toMatchObject({
      status: 409,
      body: { code: 'FILTER_EXISTS' },
    });
    expect(await call(app, 'GET', `/v1/visited-sets/${name}`)).toMatchObject({
      status: 404,
      body: { code: 'VISITED_SET_NOT_FOUND' },
    });
  });
});

describe('planning', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ MAX_FILTER_BYTES: String(1024 * 1024) });
  });
  afterAll(() => app.close());

  it('sizes without creating anything', async () => {
    const plan = { type: 'standard', capacity: 1_000_000, errorRate: 0.01 };
    const { status, body } = await call(app, 'POST', '/v1/plan', plan);
    expect(status).toBe(200);
    expect(body).toMatchObject({ ...plan, geometry: { hashScheme: 2 }, memoryBytes: expect.any(Number) });
    expect((await call(app, 'GET', '/v1/filters')).body).toEqual({ filters: [] });
  });

  it('refuses a filter that is too large, naming the memory it would need', async () => {
    const big = { name: freshName(), type: 'counting', capacity: 10 ** 13, errorRate: 0.01 };
    const { body: plan } = await call(app, 'POST', '/v1/plan', { ...big, name: undefined });
    const { memoryBytes } = plan as { memoryBytes: number };
    const answer = await call(app, 'POST', '/v1/filters', big);
    expect(answer).toMatchObject({ status: 422, body: { code: 'FILTER_TOO_LARGE' } });
    expect(answer.body).toMatchObject({
      detail: expect.stringMatching(new RegExp(`\\d TiB \\(${memoryBytes} bytes\\).* 1\\.0 MiB`)),
    });
    expect((await call(app, 'GET', '/v1/filters')).body).toEqual({ filters: [] });
  });
});
