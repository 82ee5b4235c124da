import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Filter } from '#store';
import { call, freshName } from '../support/app.js';
import { LOSING, type LosingService } from '../support/losing-services.js';

type Known = Pick<Filter, 'name' | 'generation'>;

const KINDS = [
  {
    path: '/v1/filters',
    word: 'filter',
    list: 'filters',
    spec: { type: 'counting', semantics: 'multiset', capacity: 1_000, errorRate: 0.01 },
    verb: 'items/add',
    body: { items: ['a'] },
  },
  {
    path: '/v1/visited-sets',
    word: 'visited set',
    list: 'visitedSets',
    spec: { capacity: 1_000 },
    verb: 'urls/visit',
    body: { urls: ['https://a.example/'] },
  },
];

describe.each(LOSING)('a filter whose data is lost, %s store', (_, start) => {
  let subject: LosingService;
  beforeAll(async () => {
    subject = await start();
  });
  afterAll(() => subject.stop());

  it.each(KINDS)('is listed as such, among the others, by GET $path', async (kind) => {
    const { path, word, list, spec, verb, body } = kind;
    const names = [0, 1, 2].map((n) => freshName(`lost-${n}`));
    const views: object[] = [];
    for (const name of names) {
      const made = await call(subject.app, 'POST', path, { name, ...spec });
      expect(made).toMatchObject({ status: 201 });
      expect(await call(subject.app, 'POST', `${path}/${name}/${verb}`, body)).toMatchObject({ status: 200 });
      views.push((await call(subject.app, 'GET', `${path}/${name}`)).body as object);
    }
    const [before, lost, after] = views as [object, Known & Record<string, unknown>, object];
    await subject.lose(lost);

    const listed = await call(subject.app, 'GET', path);
    expect(listed).toMatchObject({ status: 200 });
    const { name, type, semantics, capacity, errorRate, growth, generation } = lost;
    const { geometry, memoryBytes, createdAt } = lost;
    const known = {
      name,
      type,
      semantics,
      capacity,
      errorRate,
      growth,
      generation,
      geometry,
      memoryBytes,
      createdAt,
    };
    const profile = path === '/v1/visited-sets' ? { urlProfile: lost['urlProfile'] } : {};
    expect(listed.body).toEqual({ [list]: [before, { state: 'lost', ...known, ...profile }, after] });
    expect(await call(subject.app, 'GET', `${path}/${name}`)).toMatchObject({
      status: 503,
      body: {
        code: 'STORE_DATA_LOST',
        detail: `${word} "${name}" has lost data: part of it is missing, truncated or outdated. Restore the data, or clear or delete the ${word}`,
      },
    });

    const cleared = await call(subject.app, 'POST', `${path}/${name}/clear`);
    expect(cleared).toMatchObject({ status: 200, body: { items: 0 } });
    const { [list]: rows } = (await call(subject.app, 'GET', path)).body as Record<string, object[]>;
    expect(rows?.[1]).toEqual(cleared.body);
  });
});
