import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { UnseenClient } from '#client';
import type { CatalogueEntry } from '../../libs/store/src/redis/layout/entry.js';
import { CATALOGUE } from '../../libs/store/src/redis/layout/keys.js';
import { startApp, type TestApp } from '../support/app.js';
import { HistorySampler, Store, SyncTender } from '../support/in-process.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { describeInBrowser, sharedBrowser, visit, why } from './browser.js';

const browser = sharedBrowser();

const urls = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `https://example.org/${from + i}`);

// In the embedded store, a commit is one transaction, so it is never seen half done.
describeInBrowser(`a sync whose instance dies while it commits, redis store${why}`, () => {
  let redis: RedisServer;
  let app: TestApp;
  beforeAll(async () => {
    redis = await startRedis();
    app = await startApp({ REDIS_URL: redis.url });
  });
  afterAll(async () => {
    await app.close();
    await redis.stop();
  });

  /** The state after an instance dies that has announced its commit. */
  const beginCommit = async (name: string, id: string): Promise<void> => {
    const store = app.app.get<Store>(Store);
    const own = new Redis(redis.port, '127.0.0.1');
    const entry = JSON.parse((await own.hget(CATALOGUE.filters, name)) ?? '{}') as CatalogueEntry;
    const ended = await store.syncs.get(await store.open(name, 'visited-set'), id);
    const sync = { ...entry.sync!, stage: 'committing', ended: { ...ended, state: 'committed', bytes: 0 } };
    await own.hset(CATALOGUE.filters, name, JSON.stringify({ ...entry, sync }));
    own.disconnect();
  };

  it('is shown as committing, offers no action that would be refused, and is finished by the next call', async () => {
    const set = new UnseenClient({ url: app.url }).visitedSet('live');
    await set.create({ capacity: 1_000, errorRate: 1e-9 });
    await set.visit(urls(0, 100));
    const sync = await set.syncs.open();
    await sync.keep(urls(30, 110));
    // Stop these, because they could finish the commit at any moment.
    for (const each of [SyncTender, HistorySampler]) await app.app.get(each).beforeApplicationShutdown();
    await beginCommit('live', sync.id);

    const own = await visit(browser, app.url, '#/sets/live');
    const syncing = await visit(browser, app.url, '#/sets/live/sync');
    for (const tab of [own, syncing]) {
      const panel = tab.page.getByRole('region', { name: 'Sync', exact: true });
      await panel.getByText('committing, can’t be cancelled').waitFor();
      const text = (await panel.innerText()).replace(/\s+/g, ' ');
      expect(text).toMatch(/Listed 80 lines Stay 70 of 100 items .* Forgets 30 /);
      expect(await tab.inaccessible()).toEqual([]);
    }
    await own.page.getByText('syncing', { exact: true }).waitFor();
    expect(await syncing.page.getByRole('main').getByRole('button').count()).toBe(0);

    // To list the sets, the page describes each one, which finishes the commit.
    const list = await visit(browser, app.url);
    await list.page.getByRole('link', { name: 'live' }).waitFor();
    await syncing.page.getByText('Committed. 30 items forgotten. Of 80 lines listed, 10 were new.').waitFor();
    await own.page.getByText('committing, can’t be cancelled').waitFor({ state: 'detached' });
    expect(await list.page.getByText('syncing', { exact: true }).count()).toBe(0);
    expect(await set.describe()).toMatchObject({ items: 80 });
    for (const tab of [own, syncing, list]) await tab.leave();
  });
});
