import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Page, Request } from 'playwright-core';
import { UnseenClient } from '#client';
import { startApp, type TestApp } from '../support/app.js';
import { makeKey } from '../support/credentials.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';
import {
  chooseList,
  describeInBrowser,
  holdAfter,
  resultOf,
  sharedBrowser,
  signIn,
  visit,
  why,
  type Visit,
} from './browser.js';
import { startMortal, type MortalService } from './mortal-service.js';

const browser = sharedBrowser();

/** The error rate is so low that no test meets a false positive. */
const SURE = { capacity: 100_000, errorRate: 1e-9 };
const BAG = { type: 'counting', semantics: 'multiset', ...SURE } as const;

const itemsOf = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `https://example.org/${from + i}`);

/** The longest time for a call with its retries. */
const LONGEST_MS = 31_000;

/** The operation keys that a page sends with its changing calls to a path. Each attempt has one. */
function keysOf(page: Page, method: string, path: string): string[] {
  const keys: string[] = [];
  page.on('request', (request: Request) => {
    if (request.method() === method && request.url().endsWith(path))
      keys.push(request.headers()['idempotency-key'] ?? 'none');
  });
  return keys;
}

describeInBrowser(`a store that becomes unavailable behind a running service${why}`, () => {
  let redis: RedisServer;
  let app: TestApp;
  let client: UnseenClient;
  beforeAll(async () => {
    redis = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    app = await startApp({ REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '500', AUTH: 'none' });
    client = new UnseenClient({ url: app.url });
    await client.filter('bag').create(BAG);
    await client.filter('old').create(BAG);
    await client.filter('old').add(['a', 'b']);
  });
  afterAll(async () => {
    await app.close();
    await redis.stop();
  });

  const missed = (page: Page): Promise<void> =>
    page.getByText('The service is up, but its store is unavailable.').waitFor();

  it('is reported in a banner, and pending actions are done once when it is back', async () => {
    const list = await visit(browser, app.url);
    const clearing = await visit(browser, app.url, '#/filters/old');
    const making = await visit(browser, app.url, '#/new?kind=filters');
    const adding = await visit(browser, app.url, '#/filters/bag/use');
    await list.page.getByRole('link', { name: 'bag' }).waitFor();
    await clearing.page.getByRole('button', { name: 'Clear …' }).click();
    const dialog = clearing.page.getByRole('dialog');
    await dialog.getByText('2 items').waitFor();
    await dialog.getByRole('textbox').fill('old');
    await making.page.getByLabel('Name', { exact: true }).fill('fresh');
    const { held, letGo } = await holdAfter(adding.page, '/items/add', 2);
    await adding.page.getByLabel('Add', { exact: true }).check();
    await chooseList(adding.page, itemsOf(0, 5_000));
    await adding.page.getByRole('button', { name: 'Add the list' }).click();
    await held;
    const keys = [
      keysOf(clearing.page, 'POST', '/v1/filters/old/clear'),
      keysOf(making.page, 'POST', '/v1/filters'),
      keysOf(adding.page, 'POST', '/items/add'),
    ];

    process.kill(redis.pid, 'SIGSTOP');
    try {
      letGo();
      await dialog.getByRole('button', { name: 'Clear' }).click();
      await making.page.getByRole('button', { name: 'Create the filter' }).click();
      for (const { page } of [list, clearing, making, adding]) await missed(page);
      // The page keeps showing its data, and keeps polling.
      expect(await list.page.getByRole('link', { name: 'bag' }).count()).toBe(1);
      expect(await making.page.getByRole('button', { name: 'Creating …' }).isDisabled()).toBe(true);
      await adding.page
        .getByText('Waiting for the service. It continues automatically after 2,000 lines.')
        .waitFor();
      // A plan needs no store, so its answer doesn't show that the store is available again.
      const planned = making.page.waitForResponse(
        (answer) => answer.url().endsWith('/v1/plan') && answer.ok(),
      );
      await making.page.getByLabel('Capacity', { exact: true }).fill('2,000');
      await planned;
      expect(await making.page.getByText('The service is back.').count()).toBe(0);
      await until('each screen has called the service twice', () =>
        Promise.resolve(keys.every(({ length }) => length > 1)),
      );
    } finally {
      process.kill(redis.pid, 'SIGCONT');
    }
    await list.page.getByText('The service is back.').waitFor();
    await making.page.getByRole('heading', { name: 'fresh' }).waitFor();
    await dialog.waitFor({ state: 'detached' });
    await adding.page.getByText('Done: 5,000 lines.').waitFor();
    await list.page.getByRole('link', { name: 'fresh' }).waitFor();
    await list.page.getByText('The service is back.').waitFor({ state: 'detached' });
    for (const tries of keys.slice(0, 2)) expect(new Set(tries).size).toBe(1);
    expect(await client.filter('old').describe()).toMatchObject({ items: 0, added: 0 });
    // A multiset would have counted items that were added twice.
    expect(await client.filter('bag').describe()).toMatchObject({ items: 5_000, added: 5_000 });
    expect(new Set(await client.filter('bag').count(itemsOf(0, 5_000)))).toEqual(new Set([1]));
    for (const tab of [list, clearing, making, adding]) await tab.leave(503);
  });

  it('is waited for only so long: then the result is unknown, and the page recovers later', async () => {
    // This service requires keys, which are in the store.
    const closed = await startApp({ REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '500', AUTH: 'keys' });
    const making = await visit(browser, app.url, '#/new?kind=filters');
    const starting = await visit(browser, closed.url);
    const { key, headers } = await makeKey(closed, 'admin');
    await signIn(starting.page, key);
    await starting.page.getByRole('link', { name: 'bag' }).waitFor();
    for (const { page } of [making, starting]) await page.clock.install();
    await making.page.getByLabel('Name', { exact: true }).fill('late');
    process.kill(redis.pid, 'SIGSTOP');
    try {
      await making.page.getByRole('button', { name: 'Create the filter' }).click();
      const me = `${closed.url}/v1/me`;
      await until('the service has no cached key', async () => (await fetch(me, { headers })).status === 503);
      await starting.page.reload();
      for (const { page } of [making, starting]) {
        await missed(page);
        await page.clock.fastForward(LONGEST_MS);
      }
      await making.page.getByText('Creation status unknown:').waitFor();
      await starting.page.getByText('The dashboard cannot start yet:').waitFor();
    } finally {
      process.kill(redis.pid, 'SIGCONT');
    }
    await making.page.getByRole('button', { name: 'Create the filter' }).click();
    await making.page.getByRole('heading', { name: 'late' }).waitFor();
    await starting.page.getByRole('link', { name: 'late' }).waitFor();
    for (const tab of [making, starting]) await tab.leave(401, 503);
    await closed.close();
  });

  it('doesn’t delay stopping a list, which reports how many lines are unknown', async () => {
    const tab = await visit(browser, app.url, '#/filters/old/use');
    const { page } = tab;
    const { held, letGo } = await holdAfter(page, '/items/add', 2);
    await page.getByLabel('Add', { exact: true }).check();
    await chooseList(page, itemsOf(0, 5_000));
    await page.getByRole('button', { name: 'Add the list' }).click();
    await held;
    await redis.kill('SIGKILL');
    letGo();
    await page.getByText('Waiting for the service. It continues automatically after 2,000 lines.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped after 2,000 lines. Changes made so far remain.').waitFor();
    await page.getByText('The outcome of the next 1,000 lines is unknown.').waitFor();
    await missed(page);
    // Nothing on this screen polls. Starts to wait first, because the banner disappears by itself.
    const back = page.getByText('The service is back.').waitFor();
    await redis.restart();
    await back;
    const described = await client.filter('old').describe();
    expect([2_000, 3_000]).toContain('items' in described && described.items);
    await page.getByRole('button', { name: 'Another list' }).click();
    await page.getByRole('button', { name: 'Check items' }).waitFor();
    await tab.leave(503);
  });
});

describeInBrowser.each(['embedded', 'redis'] as const)(
  `a service that is killed mid-list, %s store${why}`,
  (store) => {
    let service: MortalService;
    let client: UnseenClient;
    let tab: Visit;
    beforeEach(async () => {
      service = await startMortal(store);
      client = new UnseenClient({ url: service.url });
    });
    afterEach(async () => {
      await tab.close();
      await service.clean();
    });

    const comeBack = async (): Promise<void> => {
      await tab.page
        .getByText('Waiting for the service. It continues automatically after 2,000 lines.')
        .waitFor();
      await service.restart();
      await tab.page.getByText('Done: 5,000 lines.').waitFor();
    };

    it('is waited for, and nothing is done twice after a lost answer', async () => {
      const names = client.filter('names');
      await names.create({ type: 'counting', semantics: 'multiset', ...SURE });
      tab = await visit(browser, service.url, '#/filters/names/use');
      const { page } = tab;
      const killed = service.dieAfter(page, '/items/add', 2);
      await page.getByLabel('Add', { exact: true }).check();
      await chooseList(page, itemsOf(0, 5_000));
      await page.getByRole('button', { name: 'Add the list' }).click();
      await killed;
      await comeBack();
      expect(await resultOf(page)).toEqual(itemsOf(0, 5_000).map((item) => `new\t${item}`));
      // A multiset would have counted items that were added twice.
      expect(await names.describe()).toMatchObject({ items: 5_000, added: 5_000 });
      expect(new Set(await names.count(itemsOf(0, 5_000)))).toEqual(new Set([1]));
      await tab.leave('away');
    });

    it('is waited for by a sync, whose list continues with its operation key, so that the commit is right', async () => {
      const set = client.visitedSet('live');
      await set.create(SURE);
      await set.visit(itemsOf(0, 1_000));
      const sync = await set.syncs.open();
      tab = await visit(browser, service.url, '#/sets/live/sync');
      const { page } = tab;
      const killed = service.dieAfter(page, '/syncs/*/urls', 2);
      await chooseList(page, itemsOf(100, 5_100));
      await page.getByRole('button', { name: 'Send the list' }).click();
      await killed;
      await comeBack();
      // Lines listed twice would count twice.
      expect(await sync.describe()).toMatchObject({ state: 'open', listed: 5_000, new: 4_100 });
      await page.getByRole('button', { name: 'Preview the commit' }).click();
      await page.getByRole('button', { name: 'Commit: forget 100 items' }).click();
      await page
        .getByText('Committed. 100 items forgotten. Of 5,000 lines listed, 4,100 were new.')
        .waitFor();
      expect(await set.describe()).toMatchObject({ items: 5_000 });
      expect(new Set(await set.check(itemsOf(0, 100)))).toEqual(new Set(['unseen']));
      expect(new Set(await set.check(itemsOf(100, 5_100)))).toEqual(new Set(['seen']));
      await tab.leave('away');
    });
  },
);
