import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, type Answer, type TestApp } from '../support/app.js';
import { idsOf, QueuedSet, urls } from './queued-set.js';
import { STORES } from './stores.js';

describe.each(STORES)('cursors for a queue’s lists, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  /** A set with several waiting URLs, dead letters and hosts. */
  const filled = async (): Promise<QueuedSet> => {
    const set = await QueuedSet.create(app, { perHost: {}, maxAttempts: 1 });
    await set.discover(...urls('a.example/x', 3), ...urls('b.example/x', 3));
    await set.settle('release', idsOf(await set.lease()));
    await set.discover(...urls('a.example/y', 3), ...urls('b.example/y', 3));
    return set;
  };
  const LISTS = ['queue/urls', 'queue/dead-letters', 'hosts'];
  const nextOf = ({ body }: Answer): string => (body as { next: string }).next;
  const refused = (cursor: string): object => ({
    status: 400,
    body: {
      code: 'VALIDATION_FAILED',
      detail: expect.stringContaining(
        `cursor must be the \`next\` from the previous answer, not ${JSON.stringify(cursor)}`,
      ),
      errors: [expect.objectContaining({ pointer: '#/cursor' })],
    },
  });

  it.each(LISTS)('of %s are refused for another set, after a clear, and if they are cut', async (list) => {
    const [set, other] = [await filled(), await filled()];
    const cursor = nextOf(await set.get(list, { limit: '1' }));
    expect(await set.get(list, { limit: '1', cursor })).toMatchObject({ status: 200 });
    for (const wrong of [cursor.slice(0, -1), `${cursor}A`, 'Zm9v'])
      expect(await set.get(list, { cursor: wrong })).toMatchObject(refused(wrong));
    expect(await other.get(list, { cursor })).toMatchObject(refused(cursor));
    await set.post('clear', {});
    expect(await set.get(list, { cursor })).toMatchObject(refused(cursor));
  });

  it('from one list are refused by the others', async () => {
    const set = await filled();
    for (const list of LISTS) {
      const cursor = nextOf(await set.get(list, { limit: '1' }));
      for (const other of LISTS.filter((each) => each !== list))
        expect(await set.get(other, { cursor })).toMatchObject(refused(cursor));
    }
  });

  it('are refused for a different selection, and a drop then drops nothing', async () => {
    const set = await filled();
    const selection = { state: 'waiting', prefix: 'https://a.example/' };
    const cursor = nextOf(await set.get('queue/urls', { ...selection, limit: '1' }));
    for (const other of [{ state: 'dead' }, { host: 'b.example' }, { prefix: 'https://a.example/y' }]) {
      const asked = { ...selection, ...other, cursor };
      expect(await set.get('queue/urls', asked)).toMatchObject(refused(cursor));
      expect(await set.post('queue/drop', asked)).toMatchObject(refused(cursor));
    }
    expect(await set.post('queue/drop', { all: true, cursor: 'Zm9v' })).toMatchObject(refused('Zm9v'));
    expect(await set.list()).toHaveLength(12);
  });

  it('go from a list or a dry run to a drop with the same selection', async () => {
    const set = await filled();
    const selection = { host: 'A.example', state: 'waiting' };
    const cursor = nextOf(await set.get('queue/urls', { ...selection, limit: '1' }));
    expect(await set.drop({ ...selection, host: 'a.example', dryRun: true, cursor })).toEqual({
      ...{ matched: 2, dropped: 0 },
    });
    expect(await set.drop({ ...selection, cursor })).toEqual({ matched: 2, dropped: 2 });
  });

  it('are names in the list of sets, so any name is valid', async () => {
    const { name } = await filled();
    expect(await call(app, 'GET', `/v1/visited-sets?limit=1&cursor=${name}`)).toMatchObject({ status: 200 });
  });
});
