import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { UnseenClient } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { makeKey } from '../support/credentials.js';
import { describeInBrowser, sharedBrowser, signIn, visit, why } from './browser.js';

const browser = sharedBrowser();

const URLS = Array.from({ length: 500 }, (_, i) => `https://example.org/${i}`);

/** A real file that a page may write without asking, in place of one that a user chooses. */
const FILE =
  "navigator.storage.getDirectory().then((folder) => folder.getFileHandle('large.unseen', { create: true }))";

/** Clicks Export, and returns the bytes that the browser saves. */
async function exported(page: Page): Promise<Buffer> {
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export' }).click();
  const download = await saved;
  await page.getByText(/^Exported: /).waitFor();
  const bytes = await readFile(await download.path());
  await download.delete();
  return bytes;
}

async function choose(page: Page, name: string, buffer: Buffer): Promise<void> {
  await page
    .getByLabel('Drop an export here')
    .setInputFiles([{ name, mimeType: 'application/octet-stream', buffer }]);
}

describeInBrowser(`transfers and deletions${why}`, () => {
  let app: TestApp;
  let other: TestApp;
  let client: UnseenClient;
  beforeAll(async () => {
    app = await startApp();
    other = await startApp();
    client = new UnseenClient({ url: app.url });
  });
  afterAll(async () => {
    await app.close();
    await other.close();
  });

  it('an exported visited set gives the same answers after an import under another name', async () => {
    const set = client.visitedSet(freshName('crawl'));
    await set.create({ capacity: 1_000 });
    await set.discover(URLS);
    const from = await visit(browser, app.url, `#/sets/${set.name}`);
    await from.page.getByRole('link', { name: 'Export …' }).click();
    await from.page.getByRole('heading', { name: 'Export as a file' }).waitFor();
    expect(await from.inaccessible()).toEqual([]);
    const file = await exported(from.page);
    await from.leave();

    const to = await visit(browser, other.url, '#/import');
    await choose(to.page, 'crawl.unseen', file);
    await to.page.getByText(`visited set ${set.name}`).waitFor();
    expect(await to.inaccessible()).toEqual([]);
    await to.page.getByLabel('Name').fill('imported');
    await to.page.getByRole('button', { name: 'Import' }).click();
    await to.page.getByText('Imported: imported').waitFor();
    const imported = new UnseenClient({ url: other.url }).visitedSet('imported');
    const asked = [...URLS, ...URLS.map((url) => `${url}/other`)];
    expect(await imported.check(asked)).toEqual(await set.check(asked));
    expect(await imported.describe()).toMatchObject({ items: 500, queue: { waiting: 500 } });
    await imported.drop();
    await to.leave();
  });

  it('a refused import says why, and creates nothing', async () => {
    const filter = client.filter(freshName('items'));
    await filter.create({ capacity: 1_000, errorRate: 0.01, type: 'counting' });
    await filter.add(URLS);
    const tab = await visit(browser, app.url, `#/filters/${filter.name}/export`);
    const { page } = tab;
    const file = await exported(page);
    await tab.goTo('#/import');
    await choose(page, 'list.txt', Buffer.from(URLS.join('\n')));
    await page.getByText('This is not an export of Unseen').waitFor();
    await choose(page, 'items.unseen', file);
    await page.getByRole('button', { name: 'Import' }).click();
    await page.getByText('Choose another name').waitFor();
    const damaged = Buffer.from(file);
    damaged[Math.floor(file.length / 2)]! ^= 1;
    await choose(page, 'items.unseen', damaged);
    const name = freshName('damaged');
    await page.getByLabel('Name').fill(name);
    await page.getByRole('button', { name: 'Import' }).click();
    await page.getByText('The export was not imported:').waitFor();
    expect(await page.getByRole('alert').innerText()).toMatch(/damaged|checksum/i);
    expect(await tab.inaccessible()).toEqual([]);
    await expect(client.filter(name).describe()).rejects.toThrow('FILTER_NOT_FOUND');
    await tab.leave(400, 401, 403, 409);
  });

  it('show the data that would be lost, and require the name', async () => {
    const set = client.visitedSet(freshName('crawl'));
    await set.create({ capacity: 1_000 });
    await set.discover(URLS);
    const tab = await visit(browser, app.url, `#/sets/${set.name}`);
    const { page } = tab;
    await page.getByRole('button', { name: 'Clear …' }).click();
    const clear = page.getByRole('dialog', { name: `Clear ${set.name}?` });
    await clear.getByText('500 items and 500 queue entries').waitFor();
    expect(await tab.inaccessible()).toEqual([]);
    await clear.getByLabel(/^Type/).fill(set.name.toUpperCase());
    expect(await clear.getByRole('button', { name: 'Clear' }).isDisabled()).toBe(true);
    await clear.getByLabel(/^Type/).fill(set.name);
    await clear.getByRole('button', { name: 'Clear' }).click();
    await clear.waitFor({ state: 'detached' });
    expect(await set.describe()).toMatchObject({ items: 0, queue: { waiting: 0 } });
    await page.getByRole('button', { name: 'Delete …' }).click();
    const drop = page.getByRole('dialog', { name: `Delete ${set.name}?` });
    await drop.getByText('0 items and 0 queue entries').waitFor();
    await drop.getByLabel(/^Type/).fill(set.name);
    await drop.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Sets and filters' }).waitFor();
    await expect(set.describe()).rejects.toThrow('VISITED_SET_NOT_FOUND');
    await tab.leave();
  });
});

describeInBrowser(`files of the dashboard${why}`, () => {
  it('are streamed to disk if they are large and the browser can', async () => {
    const app = await startApp();
    const filter = new UnseenClient({ url: app.url }).filter('large');
    await filter.create({ capacity: 30_000_000, errorRate: 0.01, type: 'standard' });
    await filter.add(URLS);
    const tab = await visit(browser, app.url, '#/filters/large/export');
    const { page } = tab;
    // Replaces the file dialog, which a test can't operate.
    await page.evaluate(`showSaveFilePicker = () => ${FILE}`);
    await tab.goTo('#/filters');
    await tab.goTo('#/filters/large/export');
    await page.getByRole('button', { name: 'Export to a file …' }).click();
    await page.getByText(/^Exported: /).waitFor();
    const size = await page.evaluate(`${FILE}.then((handle) => handle.getFile()).then((file) => file.size)`);
    const { memoryBytes } = await filter.describe();
    expect(size).toBeGreaterThan(memoryBytes);
    await tab.leave();
    await app.close();
  });

  it('are imported only within a key’s limits, and exported only by administrators', async () => {
    const app = await startApp({ AUTH: 'keys' });
    const admin = await makeKey(app, 'admin');
    const client = new UnseenClient({ url: app.url, apiKey: admin.key });
    await client.filter('acme-one').create({ capacity: 1_000, errorRate: 0.01, type: 'counting' });
    const bounded = await client.createKey({
      name: 'acme',
      scopes: ['admin'],
      prefix: 'acme-',
      maxFilters: 1,
    });
    const tab = await visit(browser, app.url, '#/filters/acme-one/export');
    const { page } = tab;
    await signIn(page, bounded.key);
    const file = await exported(page);
    await page.getByRole('link', { name: 'Import' }).click();
    expect(await page.getByRole('link', { name: 'Keys' }).count()).toBe(0);
    await choose(page, 'acme-one.unseen', file);
    await page.getByLabel('Name').fill('acme-two');
    await page.getByRole('button', { name: 'Import' }).click();
    await page.getByText('use a key with a larger quota').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, (await makeKey(app, 'read')).key);
    await page.getByText('Importing needs a key with the scope').waitFor();
    expect(await page.getByRole('link', { name: 'Import' }).count()).toBe(0);
    await tab.goTo('#/filters/acme-one/export');
    const button = page.getByRole('button', { name: 'Export' });
    expect(await button.getAttribute('aria-disabled')).toBe('true');
    await tab.leave(400, 401, 403, 409);
    await app.close();
  });
});
