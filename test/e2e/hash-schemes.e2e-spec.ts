import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { planGeometry, SEED_BYTES } from '#bloom';
import { call, freshName, type TestApp } from '../support/app.js';
import { Store } from '../support/in-process.js';
import { collidingKeys } from '../support/murmur3-collisions.js';
import { until } from '../support/until.js';
import { STORES } from './stores.js';

const SIZING = { type: 'counting', capacity: 10_000, errorRate: 0.001 } as const;
/** 1,024 different items with the same murmur3 hash. */
const COLLIDING = collidingKeys('', 10);

describe.each(STORES)('hash schemes, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  /** Creates a filter with hash scheme 1. */
  async function makeOldFilter(): Promise<string> {
    const store = app.app.get<Store>(Store);
    const name = freshName('old');
    const geometry = { ...planGeometry({ ...SIZING, cellBits: 4 }, store.segmentation), hashScheme: 1 };
    const operation = { id: name, fingerprint: name, origin: 'caller', repeat: false } as const;
    await store.create(
      { name, kind: 'filter', semantics: 'set', ...SIZING, geometry, seed: randomBytes(SEED_BYTES) },
      { ...operation, deadline: Date.now() + 30_000 },
    );
    return name;
  }

  const add = (name: string, items: readonly string[]): Promise<unknown> =>
    call(app, 'POST', `/v1/filters/${name}/items/add`, { items }).then(({ body }) => body);

  it('are 2 for new filters, which tell murmur3 collisions apart', async () => {
    const [filter, set] = [freshName(), freshName('v')];
    const scheme2 = { body: { geometry: { hashScheme: 2 } } };
    expect(await call(app, 'POST', '/v1/filters', { name: filter, ...SIZING })).toMatchObject(scheme2);
    expect(await call(app, 'POST', '/v1/visited-sets', { name: set, capacity: 10 })).toMatchObject(scheme2);
    const { results } = (await add(filter, COLLIDING)) as { results: boolean[] };
    // In a full filter, one item in 1,000 may test positive by chance. This one is filled to a tenth.
    expect(results.filter(Boolean).length).toBeGreaterThan(1_020);
  });

  it('never change: an old filter keeps its scheme on creation, in use, and after clear', async () => {
    const name = await makeOldFilter();
    const scheme1 = { geometry: { hashScheme: 1 } };
    expect(await add(name, ['a', 'b'])).toEqual({ results: [true, true] });
    expect(await call(app, 'POST', '/v1/filters', { name, ...SIZING })).toMatchObject({
      status: 200,
      body: { ...scheme1, items: 2 },
    });
    expect(await add(name, ['a', 'c'])).toEqual({ results: [false, true] });
    expect(await call(app, 'POST', `/v1/filters/${name}/clear`)).toMatchObject({
      status: 200,
      body: scheme1,
    });
    expect(await add(name, ['a'])).toEqual({ results: [true] });
  });

  it('survive a sync', async () => {
    const name = await makeOldFilter();
    await add(name, ['a', 'b']);
    const path = `/v1/filters/${name}/syncs`;
    const { id } = (await call(app, 'POST', path, { capacity: 500 })).body as { id: string };
    const listed = await call(app, 'POST', `${path}/${id}/items`, { items: ['a', 'c'] });
    expect(listed.body).toEqual({ results: ['kept', 'new'] });
    expect([200, 202]).toContain((await call(app, 'POST', `${path}/${id}/commit`, {})).status);
    await until('the sync is committed', async () => {
      const { state } = (await call(app, 'GET', `${path}/${id}`)).body as { state: string };
      return state === 'committed';
    });
    expect(await add(name, ['a', 'c', 'b'])).toEqual({ results: [false, false, true] });
    expect((await call(app, 'GET', `/v1/filters/${name}`)).body).toMatchObject({
      geometry: { hashScheme: 1 },
    });
  });

  it('shows the weakness of scheme 1', async () => {
    const name = await makeOldFilter();
    const { results } = (await add(name, COLLIDING)) as { results: boolean[] };
    expect(results).toEqual([true, ...Array<boolean>(1_023).fill(false)]);
  });
});
