import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, type Answer, type TestApp } from '../support/app.js';
import { STORES } from './stores.js';

const SETS = '/v1/visited-sets';

describe.each(STORES)('the creation of sets with perHost, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  const create = (name: string, perHost: unknown, more: object = {}): Promise<Answer> =>
    call(app, 'POST', SETS, { name, capacity: 1_000, perHost, ...more });
  const made = async (perHost: unknown): Promise<string> => {
    const name = freshName('h');
    expect(await create(name, perHost)).toMatchObject({ status: 201, body: { perHost } });
    return name;
  };

  it.each([{}, { delaySeconds: 2 }, { delaySeconds: 86_400, maxLeased: 1, maxUrls: 2_147_483_648 }])(
    'with perHost %j is described with these limits',
    async (perHost) => {
      const name = await made(perHost);
      expect((await call(app, 'GET', `${SETS}/${name}`)).body).toMatchObject({
        perHost,
        geometry: { segments: 1, hashScheme: 3 },
      });
      expect(await create(name, perHost)).toMatchObject({ status: 200 });
      const cleared = await call(app, 'POST', `${SETS}/${name}/clear`);
      expect(cleared.body).toMatchObject({ perHost });
    },
  );

  it('without perHost creates a set with one lane', async () => {
    const name = freshName('h');
    const { body } = await create(name, undefined);
    expect(body).toMatchObject({ geometry: { hashScheme: 2 } });
    expect(body).not.toHaveProperty('perHost');
    expect(await create(name, {})).toMatchObject({ status: 409, body: { code: 'FILTER_EXISTS' } });
  });

  it('with different limits is a different set', async () => {
    const name = await made({ delaySeconds: 2 });
    for (const [perHost, difference] of [
      [undefined, 'perHost is {"delaySeconds":2}, not unset'],
      [{}, 'perHost.delaySeconds is 2, not unset'],
      [{ delaySeconds: 3 }, 'perHost.delaySeconds is 2, not 3'],
      [{ delaySeconds: 2, maxLeased: 1 }, 'perHost.maxLeased is unset, not 1'],
    ] as const) {
      const detail = expect.stringContaining(`with different parameters: ${difference}. `);
      expect(await create(name, perHost)).toMatchObject({
        status: 409,
        body: { code: 'FILTER_EXISTS', detail },
      });
    }
  });

  it.each([
    [null, '#/perHost', 'perHost must be an object, not null'],
    [true, '#/perHost', 'perHost must be an object, not true'],
    [[], '#/perHost', 'perHost must be an object, not an array of 0'],
    [
      { delay: 2 },
      '#/perHost',
      '"delay" is not a member of perHost; its members are delaySeconds, maxLeased, maxUrls',
    ],
    [
      { delaySeconds: 0 },
      '#/perHost/delaySeconds',
      'perHost.delaySeconds must be a whole number from 1 to 86400, not 0',
    ],
    [
      { delaySeconds: 0.5 },
      '#/perHost/delaySeconds',
      'perHost.delaySeconds must be a whole number from 1 to 86400, not 0.5',
    ],
    [
      { maxLeased: '1' },
      '#/perHost/maxLeased',
      'perHost.maxLeased must be a whole number from 1 to 2147483648, not "1"',
    ],
    [
      { maxUrls: 2_147_483_649 },
      '#/perHost/maxUrls',
      'perHost.maxUrls must be a whole number from 1 to 2147483648, not 2147483649',
    ],
    [
      { maxUrls: null },
      '#/perHost/maxUrls',
      'perHost.maxUrls must be a whole number from 1 to 2147483648, not null',
    ],
  ])('refuses perHost %j', async (perHost, pointer, detail) => {
    expect(await create(freshName('h'), perHost)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED', detail, errors: [{ pointer, detail }] },
    });
  });

  it('refuses a member named like one that every object has', async () => {
    for (const member of ['__proto__', 'constructor', 'toString']) {
      const body = `{"name":"h","capacity":10,"perHost":{"${member}":1}}`;
      const answer = await call(app, 'POST', SETS, body);
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '#/perHost' }] } });
    }
  });

  it('names each bad limit', async () => {
    const answer = await create(freshName('h'), { delaySeconds: -1, maxLeased: 0, maxUrls: 1 });
    expect((answer.body as { errors: object[] }).errors).toMatchObject([
      { pointer: '#/perHost/delaySeconds' },
      { pointer: '#/perHost/maxLeased' },
    ]);
  });

  it('refuses perHost in a set that doesn’t grow', async () => {
    expect(await create(freshName('h'), {}, { growth: 'none' })).toMatchObject({
      status: 400,
      body: { detail: 'growth must be "auto" for a set with perHost, not "none"' },
    });
  });
});
