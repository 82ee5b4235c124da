import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Locator } from 'playwright-core';
import { UnseenClient, type VisitedSet } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { makeKey, type TestKey } from '../support/credentials.js';
import { describeInBrowser, resultOf, sharedBrowser, signIn, visit, why, type Visit } from './browser.js';

const browser = sharedBrowser();

const urls = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `https://example.org/${from + i}`);

/** A table row's cell texts, by column title. */
async function cellsOf(row: Locator, table: Locator): Promise<Record<string, string>> {
  const titles = await table.getByRole('columnheader').allInnerTexts();
  const texts = await row.locator('th, td').allInnerTexts();
  return Object.fromEntries(titles.map((title, n) => [title, texts[n] ?? '']));
}

/**
 * Each screen does its main task once. The dashboard's other specs run in `npm run test:all`. One store is enough: the
 * page knows only the API, and test/contract checks that both stores give the same answers.
 */
describeInBrowser(`the screens of the dashboard${why}`, () => {
  let app: TestApp;
  let admin: TestKey;
  let client: UnseenClient;
  let set: VisitedSet;
  beforeAll(async () => {
    app = await startApp({ AUTH: 'keys' });
    admin = await makeKey(app, 'admin');
    client = new UnseenClient({ url: app.url, apiKey: admin.key });
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    set = client.visitedSet(freshName('crawl'));
    // The error rate is so low that the test meets no false positive.
    await set.create({ capacity: 1_000, errorRate: 1e-9 });
    await set.discover(urls(0, 100));
  });

  const open = async (hash: string): Promise<Visit> => {
    const tab = await visit(browser, app.url, hash);
    await signIn(tab.page, admin.key);
    return tab;
  };
  const button = ({ page }: Visit, name: string): Locator => page.getByRole('button', { name, exact: true });

  it('sign in: asks for a key, refuses a wrong one, and shows the requested screen', async () => {
    const tab = await visit(browser, app.url, `#/sets/${set.name}`);
    await signIn(tab.page, 'no-such-key');
    await tab.page.getByText('The service does not accept this key.').waitFor();
    expect(await tab.inaccessible()).toEqual([]);
    await signIn(tab.page, admin.key);
    await tab.page.getByRole('heading', { name: set.name }).waitFor();
    await tab.leave(401);
  });

  it('sets and filters: lists them with their numbers', async () => {
    const tab = await open('#/');
    const row = tab.page.getByRole('row', { name: new RegExp(`^${set.name} `) });
    await row.getByText('100 of 1,000').waitFor();
    expect(await row.innerText()).toContain('100 waiting');
    expect(await tab.inaccessible()).toEqual([]);
    await tab.leave(401);
  });

  it('new: creates a visited set', async () => {
    const name = freshName('made');
    const tab = await open('#/new');
    await tab.page.getByRole('region', { name: 'Memory needed' }).getByText('11.7 MB').first().waitFor();
    await tab.page.getByLabel('Capacity', { exact: true }).fill('2k');
    await tab.page.getByLabel('Name', { exact: true }).fill(name);
    await button(tab, 'Create the visited set').click();
    await tab.page.getByRole('heading', { name }).waitFor();
    expect(await client.visitedSet(name).describe()).toMatchObject({ capacity: 2_000 });
    await tab.leave(401);
  });

  it('one set: shows its numbers, clears it, and deletes it', async () => {
    const tab = await open(`#/sets/${set.name}`);
    const items = tab.page
      .getByRole('region', { name: 'Numbers' })
      .locator('xpath=.//div[dt[normalize-space()="Items"]]/dd');
    await items.getByText('100').first().waitFor();
    const dialog = tab.page.getByRole('dialog');
    await button(tab, 'Clear …').click();
    await dialog.getByRole('textbox').fill(set.name);
    await dialog.getByRole('button', { name: 'Clear' }).click();
    await items.getByText(/^0\b/).first().waitFor();
    expect(await set.describe()).toMatchObject({ items: 0 });
    await button(tab, 'Delete …').click();
    await dialog.getByRole('textbox').fill(set.name);
    await tab.page.keyboard.press('Enter');
    await tab.page.getByRole('heading', { name: 'Sets and filters' }).waitFor();
    await expect(set.describe()).rejects.toThrow('VISITED_SET_NOT_FOUND');
    await tab.leave(401);
  });

  it('one set: shows its hosts and one host’s queue, and blocks and drops a host', async () => {
    const polite = client.visitedSet(freshName('polite'));
    await polite.create({ capacity: 1_000, perHost: { delaySeconds: 7_200, maxUrls: 50 } });
    await polite.discover(urls(0, 3));
    await polite.discover(urls(3, 4), { delaySeconds: 86_400 });
    expect(await polite.lease({ max: 1, leaseSeconds: 86_400 })).toHaveLength(1);
    await polite.discover('https://other.example/');
    const tab = await open(`#/sets/${polite.name}`);
    const queue = tab.page.getByRole('region', { name: 'Queue', exact: true });
    const scheduled = queue.locator('xpath=.//div[dt[normalize-space()="Scheduled"]]/dd');
    await scheduled.getByText('1', { exact: true }).waitFor();
    await queue.getByLabel('Host', { exact: true }).fill('other.example');
    await button(tab, 'Show').click();
    await queue.getByRole('row', { name: /^https:\/\/other\.example\/ waiting / }).waitFor();
    expect(await queue.getByRole('row').count()).toBe(2);
    const hosts = tab.page.getByRole('region', { name: 'Hosts', exact: true });
    const row = hosts.getByRole('row', { name: /^example\.org / });
    await row.waitFor();
    expect(await cellsOf(row, hosts)).toMatchObject({
      ...{ Waiting: '2', Leased: '1', Scheduled: '1', Dead: '0', Found: '4' },
      'Next due': expect.stringMatching(/^in (2 h|1 h 59 min)$/),
    });
    const other = hosts.getByRole('row', { name: /^other\.example / });
    expect(await cellsOf(other, hosts)).toMatchObject({ Waiting: '1', Leased: '0', 'Next due': 'now' });
    expect(await hosts.getByRole('row').count()).toBe(3);
    await button(tab, 'Change example.org').click();
    const dialog = tab.page.getByRole('dialog');
    await dialog.getByLabel('Blocked until').fill('2999-01-31T12:00');
    await dialog.getByLabel('Leased at a time').fill('2');
    expect(await tab.inaccessible()).toEqual([]);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await hosts.getByText('example.org is blocked until').waitFor();
    expect(await polite.hosts.get('example.org')).toMatchObject({
      ...{ waiting: 2, leased: 1, maxLeased: 2, blockedUntil: expect.stringMatching(/^2999-0[12]-/) },
    });
    await row.getByText('own limits').waitFor();
    expect(await tab.inaccessible()).toEqual([]);
    await button(tab, 'Drop example.org').click();
    await dialog.getByText('4 URLs').waitFor();
    await dialog.getByRole('button', { name: 'Drop' }).click();
    await hosts.getByText('4 URLs from example.org dropped.').waitFor();
    expect(await polite.hosts.get('example.org')).toMatchObject({ waiting: 0, scheduled: 0, found: 4 });
    await tab.leave(401);
  });

  it('one set: shows the URLs in its queue, and drops a part of them', async () => {
    await set.discover('https://example.org/old/1', { delaySeconds: 7_200 });
    await set.discover('https://example.org/old/2');
    const tab = await open(`#/sets/${set.name}`);
    const queue = tab.page.getByRole('region', { name: 'Queue', exact: true });
    await queue.getByLabel('URLs that begin with').fill('https://example.org/old/');
    await button(tab, 'Show').click();
    await queue.getByRole('row', { name: /old\/1 scheduled 0 × – in (2 h|1 h 59 min) –$/ }).waitFor();
    await queue.getByRole('row', { name: /old\/2 waiting 0 × \w.* – –$/ }).waitFor();
    expect(await queue.getByRole('row').count()).toBe(3);
    expect(await tab.inaccessible()).toEqual([]);
    await button(tab, 'Drop all of these …').click();
    const dialog = tab.page.getByRole('dialog');
    await dialog.getByText('2 URLs').waitFor();
    await dialog.getByLabel('Also forget them').check();
    expect(await tab.inaccessible()).toEqual([]);
    await dialog.getByRole('button', { name: 'Drop' }).click();
    await queue.getByText('2 URLs dropped. 2 of them were forgotten.').waitFor();
    await queue.getByText('No such URLs are in the queue.').waitFor();
    expect(await set.check(['https://example.org/old/1', 'https://example.org/0'])).toEqual([
      'unseen',
      'seen',
    ]);
    await queue.getByRole('radio', { name: 'Dead' }).check();
    await queue.getByLabel('URLs that begin with').fill('example.org');
    await button(tab, 'Show').click();
    await queue.getByText('prefix must begin with http: or https:').waitFor();
    await tab.leave(400, 401);
  });

  it('URLs: checks a list and gives the result as a file', async () => {
    const tab = await open(`#/sets/${set.name}/use`);
    await tab.page.getByLabel('URLs, one per line').fill([...urls(99, 101), 'no url'].join('\n'));
    await button(tab, 'Check 3 URLs').click();
    await tab.page.getByText('Done: 3 lines.').waitFor();
    expect(await resultOf(tab.page)).toEqual([
      'seen\thttps://example.org/99',
      'unseen\thttps://example.org/100',
      'invalid\tno url',
    ]);
    await tab.leave(401);
  });

  it('explain: shows a URL’s key, and why it is seen', async () => {
    const tab = await open(`#/sets/${set.name}/explain`);
    await tab.page.getByLabel('The URL').fill('HTTPS://Example.org:443/7#top');
    await button(tab, 'Explain').click();
    const answer = tab.page.getByRole('status', { name: 'The answer' });
    await answer.getByText('seen', { exact: true }).waitFor();
    await tab.page.locator('.key', { hasText: 'https://example.org/7' }).waitFor();
    await tab.leave(401);
  });

  it('explain: keeps text that is typed before the page is drawn', async () => {
    const tab = await open(`#/sets/${set.name}`);
    await tab.page.getByRole('heading', { name: set.name }).waitFor();
    // The observer runs in the event-loop turn in which the field appears, before a user could type.
    await tab.page.evaluate(`new MutationObserver((_, observer) => {
      const field = document.querySelector('form.ask input');
      if (!field) return;
      observer.disconnect();
      field.value = 'https://example.org/8';
      field.dispatchEvent(new Event('input', { bubbles: true }));
    }).observe(document.body, { childList: true, subtree: true });
    location.hash = '#/sets/${set.name}/explain';`);
    await button(tab, 'Explain').click();
    await tab.page.locator('.key', { hasText: 'https://example.org/8' }).waitFor();
    await tab.leave(401);
  });

  it('sync: forgets unlisted URLs after a preview', async () => {
    // A sync keeps URLs that are queued when it is opened.
    await set.ack((await set.lease({ max: 100, leaseSeconds: 60 })).map(({ id }) => id));
    const tab = await open(`#/sets/${set.name}/sync`);
    await button(tab, 'Open a sync').click();
    await tab.page.getByLabel('URLs, one per line').fill(urls(20, 101).join('\n'));
    await button(tab, 'Send the list').click();
    await tab.page.getByText('Done: 81 lines.').waitFor();
    await button(tab, 'Preview the commit').click();
    await button(tab, 'Commit: forget 20 items').click();
    await tab.page.getByText('Committed. 20 items forgotten').waitFor();
    expect(await set.check(['https://example.org/19', 'https://example.org/20'])).toEqual(['unseen', 'seen']);
    await tab.leave(401, 409);
  });

  it('export and import: copies a set to another name', async () => {
    const name = freshName('imported');
    const tab = await open(`#/sets/${set.name}/export`);
    const saved = tab.page.waitForEvent('download');
    await button(tab, 'Export').click();
    const buffer = await readFile(await (await saved).path());
    await tab.goTo('#/import');
    const file = { name: 'crawl.unseen', mimeType: 'application/octet-stream', buffer };
    await tab.page.getByLabel('Drop an export here').setInputFiles([file]);
    await tab.page.getByLabel('Name').fill(name);
    await button(tab, 'Import').click();
    await tab.page.getByText(`Imported: ${name}`).waitFor();
    expect(await client.visitedSet(name).check(urls(0, 100))).not.toContain('unseen');
    await tab.leave(401);
  });

  it('keys: creates one, and shows its secret once', async () => {
    const tab = await open('#/keys');
    await button(tab, 'New key …').click();
    const dialog = tab.page.getByRole('dialog', { name: 'A new key' });
    await dialog.getByLabel('Name').fill('acme');
    await button(tab, 'Create key').click();
    const apiKey = await tab.page.getByLabel('Key acme', { exact: true }).inputValue();
    await button(tab, 'I saved it').click();
    expect(await new UnseenClient({ url: app.url, apiKey }).me()).toMatchObject({ name: 'acme' });
    expect(await tab.page.getByText(apiKey).count()).toBe(0);
    await tab.leave(401);
  });
});
