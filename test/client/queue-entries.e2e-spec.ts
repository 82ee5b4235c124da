import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NotFoundError, UnseenClient, ValidationError, type QueuedUrl } from '#client';
import { STORES } from '../e2e/stores.js';
import { freshName, type TestApp } from '../support/app.js';

const urls = (below: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `https://${below}/${n}`);

describe.each(STORES)('the URLs in a set’s queue, $name store', ({ start }) => {
  let app: TestApp;
  let client: UnseenClient;
  beforeAll(async () => {
    app = await start();
    client = new UnseenClient({ url: app.url });
  });
  afterAll(() => app.close());

  const all = async (list: AsyncIterable<QueuedUrl>): Promise<string[]> => {
    const found: string[] = [];
    for await (const { url } of list) found.push(url);
    return found.sort();
  };

  it('are listed page by page, and selected', async () => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 1_000, perHost: {} });
    await set.discover([...urls('a.example/x', 3), ...urls('a.example/y', 2), ...urls('b.example/x', 2)]);
    expect(await all(set.queuedUrls({ pageSize: 2 }))).toHaveLength(7);
    expect(await all(set.queuedUrls({ host: 'a.example', pageSize: 1 }))).toHaveLength(5);
    expect(await all(set.queuedUrls({ prefix: 'https://a.example/x/' }))).toEqual(urls('a.example/x', 3));
    const [leased] = await set.lease({ max: 1, leaseSeconds: 60 });
    expect(await all(set.queuedUrls({ state: 'leased' }))).toEqual([leased?.url]);
  });

  it('are dropped with as many calls as the queue needs', async () => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 20_000, errorRate: 1e-9 });
    const old = urls('a.example', 10_500);
    await set.discover([...old, ...urls('b.example', 2)]);
    const asked = { prefix: 'https://a.example/' };
    expect(await set.dropQueued({ ...asked, dryRun: true })).toEqual({ matched: 10_500, dropped: 0 });
    const once = () => set.dropQueued(asked, { idempotencyKey: freshName('key') });
    expect(await once()).toEqual({ matched: 10_500, dropped: 10_500 });
    expect(await once()).toEqual({ matched: 0, dropped: 0 });
    expect(await set.check(old[0] ?? '')).toBe('seen');
    expect(await set.dropQueued({ all: true, forget: true })).toEqual({
      ...{ matched: 2, dropped: 2, forgotten: 2 },
    });
    expect(await set.check(urls('b.example', 2))).toEqual(['unseen', 'unseen']);
  });

  it('are refused without a selection, with a wrong one, and for a set that does not exist', async () => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 1_000 });
    await expect(set.dropQueued({})).rejects.toThrow(ValidationError);
    await expect(set.dropQueued({ host: 'a.example' })).rejects.toThrow(ValidationError);
    await expect(set.queuedUrls({ prefix: 'a.example' }).next()).rejects.toThrow(ValidationError);
    await expect(client.visitedSet(freshName()).queuedUrls().next()).rejects.toThrow(NotFoundError);
  });
});
