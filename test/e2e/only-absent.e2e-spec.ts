import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, type TestApp } from '../support/app.js';
import { STORES } from './stores.js';

describe.each(STORES)('an add of only absent items, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  const create = async (options: object = {}): Promise<string> => {
    const name = freshName('bag');
    const spec = { name, type: 'counting', semantics: 'multiset', capacity: 1_000, errorRate: 1e-9 };
    expect(await call(app, 'POST', '/v1/filters', { ...spec, ...options })).toMatchObject({ status: 201 });
    return name;
  };
  const add = (name: string, body: unknown, query = '', headers: Record<string, string> = {}) =>
    call(app, 'POST', `/v1/filters/${name}/items/add${query}`, body, headers);
  const results = (...answers: unknown[]) => ({ status: 200, body: { results: answers } });
  const count = (name: string, items: string[]) =>
    call(app, 'POST', `/v1/filters/${name}/items/count`, { items });

  it('counts no item that is present, and of equal items in a request only the first', async () => {
    const name = await create();
    expect(await add(name, { items: ['a', 'a'] })).toMatchObject(results(true, false));
    const body = { items: ['a', 'b', 'b', 'c'], onlyAbsent: true };
    expect(await add(name, body)).toMatchObject(results(false, true, false, true));
    expect(await add(name, { items: ['c', 'd'] }, '?onlyAbsent=true')).toMatchObject(results(false, true));
    expect(await count(name, ['a', 'b', 'c', 'd'])).toMatchObject(results(2, 1, 1, 1));
    for (const [query, options] of [
      ['', { onlyAbsent: false }],
      ['?onlyAbsent=false', {}],
    ] as const)
      expect(await add(name, { items: ['d'], ...options }, query)).toMatchObject(results(false));
    expect(await count(name, ['d'])).toMatchObject(results(3));
  });

  it('works for a stream’s lines', async () => {
    const name = await create();
    await add(name, { items: ['a'] });
    const sent = await fetch(`${app.url}/v1/filters/${name}/items/add?onlyAbsent=true`, {
      ...{ method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'a\nb\nb\n' },
    });
    expect(await sent.text()).toContain('"results":[false,true,false]');
    expect(await count(name, ['a', 'b'])).toMatchObject(results(1, 1));
  });

  it('gets the same answer again for the same key, and is a different request from an ordinary add', async () => {
    const name = await create();
    const key = { 'idempotency-key': freshName('key') };
    const body = { items: ['a', 'b'], onlyAbsent: true };
    expect(await add(name, body, '', key)).toMatchObject(results(true, true));
    expect(await add(name, body, '', key)).toMatchObject(results(true, true));
    expect(await add(name, { items: ['a', 'b'] }, '', key)).toMatchObject({
      ...{ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } },
    });
    const query = { 'idempotency-key': freshName('key') };
    expect(await add(name, { items: ['c'] }, '?onlyAbsent=true', query)).toMatchObject(results(true));
    expect(await add(name, { items: ['c'] }, '', query)).toMatchObject({ status: 422 });
    expect(await count(name, ['a', 'b', 'c'])).toMatchObject(results(1, 1, 1));
  });

  it.each([{ semantics: 'set' }, { semantics: 'set', type: 'standard' }])(
    'is an ordinary add to a filter with %j',
    async (options) => {
      const name = await create(options);
      expect(await add(name, { items: ['a', 'a'], onlyAbsent: true })).toMatchObject(results(true, false));
      expect(await add(name, { items: ['a', 'b'], onlyAbsent: true })).toMatchObject(results(false, true));
    },
  );

  const MUST = 'onlyAbsent must be true or false, not';
  it.each([
    [{ onlyAbsent: 1 }, '', `${MUST} 1`],
    [{ onlyAbsent: 'true' }, '', `${MUST} "true"`],
    [{ onlyAbsent: null }, '', `${MUST} null`],
    [{}, '?onlyAbsent=1', `${MUST} "1"`],
    [{}, '?onlyAbsent=', `${MUST} ""`],
    [{}, '?onlyAbsent=true&onlyAbsent=true', `${MUST} an array of 2`],
    [
      { onlyAbsent: true },
      '?onlyAbsent=true',
      'onlyAbsent must be in the query or in the body, not both: "true" and true',
    ],
  ])('refuses %j with the query "%s", and adds nothing', async (options, query, detail) => {
    const name = await create();
    expect(await add(name, { items: ['a'], ...options }, query)).toMatchObject({
      ...{ status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ pointer: '#/onlyAbsent', detail }] } },
    });
    expect(await count(name, ['a'])).toMatchObject(results(0));
  });

  it.each(['check', 'remove', 'count'])('is no option of %s', async (verb) => {
    const name = await create();
    const sent = await call(app, 'POST', `/v1/filters/${name}/items/${verb}`, {
      ...{ items: ['a'], onlyAbsent: true },
    });
    expect(sent).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });
});
