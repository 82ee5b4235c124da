import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { UnseenClient } from '#client';
import { startApp, type TestApp } from '../support/app.js';
import { Store } from '../support/in-process.js';
import { until } from '../support/until.js';
import { makeFilter } from '../contract/calls.js';
import { describeInBrowser, holdAfter, sharedBrowser, visit, why, type Visit } from './browser.js';

const urls = (count: number): string[] => Array.from({ length: count }, (_, i) => `https://example.org/${i}`);

const browser = sharedBrowser();

const namesOf = (page: Page): Promise<string[]> => page.locator('.list tbody .name a').allInnerTexts();
const rowOf = (page: Page, name: string): Promise<string> =>
  page.getByRole('row', { name: new RegExp(`^${name} `) }).innerText();

describeInBrowser(`the list${why}`, () => {
  let app: TestApp;
  let client: UnseenClient;
  let tab: Visit;
  beforeAll(async () => {
    app = await startApp();
    client = new UnseenClient({ url: app.url });
  });
  afterAll(() => app.close());

  it('says that it is empty, and links to the form for a new set', async () => {
    tab = await visit(browser, app.url);
    await tab.page.getByText('Nothing here yet').waitFor();
    expect(await tab.inaccessible()).toEqual([]);
    await tab.page.getByRole('link', { name: 'Create the first one' }).click();
    await tab.page.getByRole('heading', { name: 'New', exact: true }).waitFor();
    await tab.leave();
  });

  it('shows sets and filters with current numbers and states', async () => {
    const crawl = client.visitedSet('crawl');
    await crawl.create({ capacity: 1_000, growth: 'none', maxAttempts: 1 });
    await crawl.discover(urls(950));
    const leased = await crawl.lease({ max: 10, leaseSeconds: 600 });
    await crawl.release(leased.slice(0, 3).map(({ id }) => id));
    const names = client.filter('names');
    await names.create({ type: 'counting', capacity: 1_000, errorRate: 0.01 });
    await names.add(urls(1_400));
    const old = client.visitedSet('old-news');
    await old.create({ capacity: 5_000, maxAgeSeconds: 86_400 });
    await old.syncs.open();

    tab = await visit(browser, app.url, '#/new');
    const { page } = tab;
    const second = await holdAfter(page, '/v1/visited-sets?*', 1, 'GET');
    await tab.goTo('#/');
    await page.getByRole('row', { name: /^crawl / }).waitFor();
    expect(await rowOf(page, 'crawl')).toMatch(/nearly full[^]*dead letters[^]*950 of 1,000[^]*0\.01 %/);
    expect(await rowOf(page, 'crawl')).toMatch(/940 waiting\s+7 leased, 0 delayed, 3 dead/);
    expect(await rowOf(page, 'names')).toMatch(/over capacity[^]*of 1,000[^]*over 1 %/);
    expect(await rowOf(page, 'old-news')).toMatch(/syncing\s*ageing/);
    // A rate needs two polls.
    expect(await rowOf(page, 'crawl')).toContain('–');
    second.letGo();
    await crawl.visit(urls(1_000).slice(950));
    await until('the numbers are updated', async () => /1,000 of 1,000/.test(await rowOf(page, 'crawl')));
    expect(await rowOf(page, 'crawl')).not.toContain('–');
    expect(await page.locator('.summary').innerText()).toMatch(
      /^2 visited sets, 1 filter · .*B · .* new per second$/,
    );
    expect(await tab.inaccessible()).toEqual([]);
    expect(tab.complaints()).toEqual([]);
  });

  it('searches and sorts, by keyboard too, and keeps both in the address', async () => {
    const { page } = tab;
    expect(await namesOf(page)).toEqual(['crawl', 'names', 'old-news']);
    await page.getByRole('button', { name: 'Items vs. capacity' }).press('Enter');
    expect((await namesOf(page)).at(-1)).toBe('old-news');
    await page.getByRole('button', { name: 'Items vs. capacity' }).press('Enter');
    expect((await namesOf(page))[0]).toBe('old-news');
    await page.getByRole('searchbox').fill('N');
    await page.getByRole('radio', { name: 'Filters' }).check();
    expect(await namesOf(page)).toEqual(['names']);
    expect(new URL(page.url()).hash).toBe('#/?sort=items&q=N&kind=filters');
    await page.reload();
    await page.getByRole('row', { name: /^names / }).waitFor();
    expect(await namesOf(page)).toEqual(['names']);
    await page.getByRole('searchbox').fill('nobody');
    await page.getByRole('button', { name: 'Show all' }).click();
    expect(await namesOf(page)).toHaveLength(3);
    await tab.leave();
  });

  it.each([
    ['a phone', 360, 'light'],
    ['a phone in the dark', 360, 'dark'],
    ['a tablet in the dark', 800, 'dark'],
    ['a screen in the dark', 1_400, 'dark'],
  ] as const)('is readable on %s', async (_, width, colorScheme) => {
    tab = await visit(browser, app.url, '#/', { viewport: { width, height: 800 }, colorScheme });
    await tab.page.getByRole('link', { name: 'crawl' }).waitFor();
    expect(await tab.inaccessible()).toEqual([]);
    expect(await tab.overflow()).toBe(0);
    await tab.leave();
  });
});

describeInBrowser(`an answer that cannot be shown${why}`, () => {
  it('breaks only its own screen, until it can be shown', async () => {
    const app = await startApp();
    const tab = await visit(browser, app.url, '#/new');
    const { page } = tab;
    try {
      const list = /\/v1\/visited-sets\?/;
      await page.route(list, (route) =>
        route.fulfill({ json: { visitedSets: [{ name: 'odd', generation: '1' }] } }),
      );
      await tab.goTo('#/');
      await page.getByText('This screen cannot be shown').waitFor();
      await page.getByRole('link', { name: 'Import' }).click();
      await page.getByRole('heading', { name: 'Import' }).waitFor();
      await tab.goTo('#/');
      await page.getByText('This screen cannot be shown').waitFor();
      await page.unroute(list);
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByText('Nothing here yet').waitFor();
      await tab.leave();
    } finally {
      await tab.close();
      await app.close();
    }
  });
});

const MANY = 2_000;
const nameOf = (i: number): string => `f${String(i).padStart(4, '0')}`;

describeInBrowser(`a very long list${why}`, () => {
  it('is loaded completely, and shown in pages with addresses', async () => {
    const app = await startApp();
    const store = app.app.get<Store>(Store);
    const tiny = { type: 'standard', capacity: 10, errorRate: 0.1 } as const;
    const make = (i: number) => makeFilter(store, { name: nameOf(i), ...tiny });
    await Promise.all(Array.from({ length: MANY }, (_, i) => make(i)));
    const client = new UnseenClient({ url: app.url });
    await client.filter(nameOf(1_234)).add(urls(5));
    const tab = await visit(browser, app.url);
    const { page } = tab;
    const next = page.getByRole('button', { name: 'Next' });
    try {
      await page.getByText('1 to 100 of 2,000').waitFor();
      expect(await page.locator('.summary').innerText()).toContain('0 visited sets, 2,000 filters');
      expect(await namesOf(page)).toEqual(Array.from({ length: 100 }, (_, i) => nameOf(i)));
      await next.click();
      await next.click();
      expect((await namesOf(page))[0]).toBe(nameOf(200));
      await client.filter(nameOf(0)).drop();
      await page.reload();
      await page.getByText('201 to 300 of 1,999').waitFor();
      expect((await namesOf(page))[0]).toBe(nameOf(201));

      await page.getByRole('button', { name: 'Items vs. capacity' }).click();
      await page.getByText('1 to 100 of 1,999').waitFor();
      expect((await namesOf(page))[0]).toBe(nameOf(1_234));
      await page.getByRole('searchbox').fill('f19');
      await page.getByText('100 of 1,999', { exact: true }).waitFor();
      expect(await namesOf(page)).toHaveLength(100);
      expect(await next.count()).toBe(0);
      await page.getByRole('searchbox').fill('');
      await tab.goTo('#/?sort=-name&page=20');
      await page.getByText('1,901 to 1,999 of 1,999').waitFor();
      expect((await namesOf(page)).at(-1)).toBe(nameOf(1));
      expect(await next.isDisabled()).toBe(true);
      await tab.leave();
    } finally {
      await tab.close();
      await app.close();
    }
  });
});
