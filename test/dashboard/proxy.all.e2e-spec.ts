import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { UnseenClient } from '#client';
import { startApp, type TestApp } from '../support/app.js';
import { makeKey, type TestKey } from '../support/credentials.js';
import { startPrefixProxy, type PrefixProxy } from '../support/prefix-proxy.js';
import { chooseList, describeInBrowser, sharedBrowser, signIn, visit, why, type Visit } from './browser.js';

const browser = sharedBrowser();

const URLS = Array.from({ length: 1_500 }, (_, i) => `https://example.org/${i}`);

// The visit complains about a request outside the path.
describeInBrowser(`behind a proxy that gives it a path${why}`, () => {
  let app: TestApp;
  let proxy: PrefixProxy;
  let admin: TestKey;
  let client: UnseenClient;
  let tab: Visit;
  beforeAll(async () => {
    app = await startApp({ AUTH: 'keys' });
    proxy = await startPrefixProxy(app.port, '/unseen');
    admin = await makeKey(app, 'admin');
    client = new UnseenClient({ url: proxy.url, apiKey: admin.key });
    await client.visitedSet('crawl').create({ capacity: 10_000, errorRate: 1e-9 });
  });
  afterAll(async () => {
    await proxy.stop();
    await app.close();
  });

  it('serves the page, with or without a slash, and signs in', async () => {
    tab = await visit(browser, proxy.url);
    const { page } = tab;
    for (const path of ['/', '/dashboard/', '/dashboard']) {
      await page.goto(proxy.url + path);
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      expect(page.url()).toBe(`${proxy.url}/dashboard`);
    }
    await signIn(page, admin.key);
    await page.getByRole('link', { name: 'crawl' }).click();
    await page.getByRole('heading', { name: 'Layers' }).waitFor();
    expect(page.url()).toBe(`${proxy.url}/dashboard#/sets/crawl`);
  });

  it('sends a list, follows a sync, and exports and imports', async () => {
    const { page } = tab;
    await page.getByRole('link', { name: 'URLs …' }).click();
    await page.getByLabel('Visit', { exact: true }).check();
    await chooseList(page, URLS);
    await page.getByRole('button', { name: 'Visit the list' }).click();
    await page.getByText('Done: 1,500 lines.').waitFor();
    await tab.goTo('#/sets/crawl/explain?item=https%3A%2F%2Fexample.org%2F0');
    await page.getByRole('status', { name: 'The answer' }).getByText('seen', { exact: true }).waitFor();
    await tab.goTo('#/sets/crawl/sync');
    await page.getByRole('button', { name: 'Open a sync' }).click();
    await page.getByRole('heading', { name: 'Live entries' }).waitFor();
    await tab.goTo('#/sets/crawl/export');
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    const buffer = await readFile(await (await saving).path());
    await tab.goTo('#/import');
    await page
      .getByLabel('Drop an export here')
      .setInputFiles([{ name: 'crawl.unseen', mimeType: 'application/octet-stream', buffer }]);
    await page.getByLabel('Name').fill('copy');
    await page.getByRole('button', { name: 'Import' }).click();
    await page.getByRole('link', { name: 'copy' }).click();
    await page.getByRole('heading', { name: 'Layers' }).waitFor();
    expect(await client.visitedSet('copy').describe()).toMatchObject({ items: 1_500 });
  });

  it('links to the API description', async () => {
    const { page } = tab;
    expect(tab.complaints().filter((text) => !text.includes('401'))).toEqual([]);
    await page.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByText('/v1/visited-sets', { exact: true }).first().waitFor();
    expect(page.url()).toBe(`${proxy.url}/docs`);
    expect(tab.complaints().filter((text) => text.startsWith('request: http'))).toEqual([]);
    await tab.close();
  });
});
