import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { UnseenClient, type VisitedSet } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { makeKey, type TestKey } from '../support/credentials.js';
import { chooseList, describeInBrowser, sharedBrowser, signIn, visit, why, type Visit } from './browser.js';

const browser = sharedBrowser();

const ITEMS = 100;
const url = (i: number): string => `https://example.org/${i}`;
const urls = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => url(from + i));

describeInBrowser(`a sync${why}`, () => {
  let app: TestApp;
  let admin: TestKey;
  let client: UnseenClient;
  beforeAll(async () => {
    app = await startApp({ AUTH: 'keys' });
    admin = await makeKey(app, 'admin');
    client = new UnseenClient({ url: app.url, apiKey: admin.key });
  });
  afterAll(() => app.close());

  const made = async (): Promise<VisitedSet> => {
    const set = client.visitedSet(freshName('live'));
    await set.create({ capacity: 1_000, errorRate: 1e-9 });
    await set.visit(urls(0, ITEMS));
    return set;
  };

  const opened = async ({ name }: VisitedSet, key = admin): Promise<Visit> => {
    const tab = await visit(browser, app.url, `#/sets/${name}/sync`);
    await signIn(tab.page, key.key);
    await tab.page.getByRole('heading', { name: `Sync ${name}` }).waitFor();
    return tab;
  };

  const list = async (page: Page, text: string): Promise<void> => {
    await page.getByLabel('URLs, one per line').fill(text);
    await page.getByRole('button', { name: 'Send the list' }).click();
  };

  /** The lines' results, in words. */
  const tallied = async (page: Page): Promise<Record<string, string>> => {
    const tally = page.locator('.tally');
    const [words, counts] = [
      await tally.locator('dt').allInnerTexts(),
      await tally.locator('dd').allInnerTexts(),
    ];
    return Object.fromEntries(words.map((word, i) => [word, counts[i] ?? '']));
  };

  const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

  it('forgets unlisted URLs after a preview', async () => {
    const set = await made();
    const tab = await opened(set);
    const { page } = tab;
    await page.getByText('The visited set has 100 items now.').waitFor();
    expect(await tab.inaccessible()).toEqual([]);
    await page.getByLabel('New capacity').fill('2k');
    await button(page, 'Open a sync').click();
    await list(page, [...urls(20, ITEMS), url(ITEMS), 'no url'].join('\n'));
    await page.getByText('Done: 82 lines.').waitFor();
    expect(await tallied(page)).toEqual({
      'already there, and kept': '80',
      'new, and added': '1',
      'not URLs, and skipped': '1',
    });
    await page.getByText('1 is not a valid URL').waitFor();
    await page.locator('details .item', { hasText: 'no url' }).first().waitFor();
    await button(page, 'Preview the commit').click();
    await page
      .getByText('The commit would forget 20 of 100 items, about 20 %. The guard allows at most 50 %.')
      .waitFor();
    expect(await tab.inaccessible()).toEqual([]);
    expect((await set.check(urls(0, 20))).every((result) => result === 'seen')).toBe(true);
    await button(page, 'Commit: forget 20 items').click();
    await page.getByText('Committed. 20 items forgotten. Of 81 lines listed, 1 was new.').waitFor();
    expect(await tab.inaccessible()).toEqual([]);
    expect(await set.check([url(0), url(19), url(20), url(ITEMS)])).toEqual([
      'unseen',
      'unseen',
      'seen',
      'seen',
    ]);
    expect(await set.describe()).toMatchObject({ capacity: 2_000, items: 81 });
    await button(page, 'Another sync').click();
    await button(page, 'Open a sync').waitFor();
    await tab.leave(401, 409);
  });

  it('that would forget too much is refused, and forced only by typing the name', async () => {
    const set = await made();
    const tab = await opened(set);
    const { page } = tab;
    await button(page, 'Open a sync').click();
    const packed = gzipSync(
      urls(0, 10)
        .map((text) => JSON.stringify(text))
        .join('\n'),
    );
    await page
      .getByLabel('Or drop files here')
      .setInputFiles([{ name: 'live.ndjson.gz', mimeType: 'application/gzip', buffer: packed }]);
    await page.getByRole('heading', { name: /^1 file, / }).waitFor();
    await button(page, 'Send the list').click();
    await page.getByText('Done: 10 lines.').waitFor();
    await button(page, 'Preview the commit').click();
    await page.getByText('The service would refuse this commit.').waitFor();
    expect(await button(page, /^Commit/).count()).toBe(0);
    await button(page, 'Force …').click();
    const dialog = page.getByRole('dialog', { name: 'Forget 90 of 100 items?' });
    expect(await tab.inaccessible()).toEqual([]);
    await dialog.getByLabel(`Type “${set.name}” to confirm`).fill('another');
    expect(await dialog.getByRole('button', { name: 'Commit' }).isDisabled()).toBe(true);
    expect(await set.describe()).toMatchObject({ items: ITEMS });
    await dialog.getByLabel(`Type “${set.name}” to confirm`).fill(set.name);
    await dialog.getByRole('button', { name: 'Commit' }).click();
    await page.getByText('Committed. 90 items forgotten').waitFor();
    expect(await set.check([url(9), url(10)])).toEqual(['seen', 'unseen']);
    await tab.leave(401, 409);
  });

  it('isn’t reported as already open while the call that opens it is pending', async () => {
    const set = await made();
    const tab = await opened(set);
    const { page } = tab;
    let answer = (): void => undefined;
    const released = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/syncs', async (route) => {
      const response = await route.fetch();
      await released;
      await route.fulfill({ response });
    });
    await button(page, 'Open a sync').click();
    // The page learns about the sync before the call that opens it returns.
    await page.getByRole('button', { name: 'Send the list' }).waitFor();
    expect(await page.getByText('This sync was already open.').count()).toBe(0);
    const answered = page.waitForResponse('**/syncs');
    answer();
    await (await answered).finished();
    await page.getByText('0 of 100 items').waitFor();
    expect(await page.getByText('This sync was already open.').count()).toBe(0);
    await tab.leave(401);
  });

  it('that another caller opened can be continued and abandoned', async () => {
    const set = await made();
    const sync = await set.syncs.open();
    await sync.keep(urls(0, 60));
    const tab = await opened(set);
    const { page } = tab;
    await page.getByText('This sync was already open.').waitFor();
    await page.getByText('60 of 100 items').waitFor();
    await list(page, urls(60, 70).join('\n'));
    await page.getByText('70 of 100 items').waitFor();
    await button(page, 'Abandon …').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Abandon' }).click();
    await page.getByText('The sync has ended: a caller abandoned it. Nothing was forgotten').waitFor();
    expect(await sync.describe()).toMatchObject({ state: 'abandoned' });
    expect(await set.describe()).toMatchObject({ items: ITEMS });
    await tab.leave(401, 409);
  });

  it('continues with its list while the user visits other screens', async () => {
    const set = await made();
    const sync = await set.syncs.open();
    const tab = await opened(set);
    const { page } = tab;
    let letGo: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (letGo = resolve));
    let calls = 0;
    await page.route(`**/syncs/${sync.id}/urls`, async (route) => {
      if (++calls === 2) await released;
      await route.continue();
    });
    await chooseList(page, urls(0, 2_500));
    await button(page, 'Send the list').click();
    const link = page
      .getByRole('navigation', { name: 'Screens' })
      .getByRole('link', { name: /^List \d+ %$/ });
    await link.waitFor();
    await tab.goTo(`#/sets/${set.name}/use`);
    await page.getByText('one list at a time').waitFor();
    letGo();
    await link.waitFor({ state: 'detached' });
    await tab.goTo(`#/sets/${set.name}/sync`);
    await page.getByText('Done: 2,500 lines.').waitFor();
    expect(await tallied(page)).toEqual({
      'already there, and kept': '100',
      'new, and added': '2,400',
    });
    expect(await sync.describe()).toMatchObject({ state: 'open', listed: 2_500, new: 2_400 });
    // This tab opened it.
    expect(await page.getByText('This sync was already open.').count()).toBe(0);
    await page.getByText('100 of 100 items').waitFor();
    await tab.leave(401);
  });

  it('that ends while a list is sent says so, and stays open if only the list is stopped', async () => {
    const set = await made();
    const sync = await set.syncs.open();
    const tab = await opened(set);
    const { page } = tab;
    let held: () => void = () => undefined;
    const stopped = new Promise<void>((resolve) => (held = resolve));
    const lines = `**/syncs/${sync.id}/urls`;
    await page.route(lines, async (route) => {
      await stopped;
      await route.abort().catch(() => undefined);
    });
    await list(page, urls(0, 60).join('\n'));
    await button(page, 'Stop').click();
    await page.getByText('Stopped after 0 lines. They stay listed').waitFor();
    await page.getByText('The outcome of the next 60 lines is unknown.').waitFor();
    held();
    await page.unroute(lines);
    expect(await sync.describe()).toMatchObject({ state: 'open' });
    await page.route(lines, async (route) => {
      await sync.abandon();
      await route.continue();
    });
    await button(page, 'Another list').click();
    await list(page, urls(0, 60).join('\n'));
    await page.getByText('No lines were processed').waitFor();
    await page.getByText('The sync has ended: a caller abandoned it.').waitFor();
    await button(page, 'Another list').waitFor({ state: 'detached' });
    // The end of a sync must not look as if the service were unavailable.
    expect(await page.getByText('does not answer').count()).toBe(0);
    await tab.leave(401, 409);
  });

  it('outlives the key, and continues after another sign-in', async () => {
    const set = await made();
    const passing = await makeKey(app, 'admin');
    const tab = await opened(set, passing);
    const { page } = tab;
    await button(page, 'Open a sync').click();
    await page.getByRole('heading', { name: 'Live entries' }).waitFor();
    await page.route('**/syncs/*/urls', async (route) => {
      await client.revokeKey(passing.id);
      await route.continue();
    });
    await list(page, url(0));
    await page.getByText('Your key is no longer valid').waitFor();
    await page.unroute('**/syncs/*/urls');
    await signIn(page, (await makeKey(app, 'write')).key);
    await page.getByText('Your key expired or was revoked after 0 lines.').waitFor();
    await button(page, 'Continue').click();
    await page.getByText('Done: 1 line.').waitFor();
    // The key may list lines, and no more.
    for (const name of ['Preview the commit', 'Abandon …'])
      expect(await button(page, name).getAttribute('aria-disabled')).toBe('true');
    await tab.leave(401, 409);
  });

  it('shows a reader its state, and no button that would fail', async () => {
    const set = await made();
    const tab = await opened(set, await makeKey(app, 'read'));
    const { page } = tab;
    await button(page, 'Open a sync').click({ force: true });
    expect(await set.describe()).not.toHaveProperty('sync');
    await set.syncs.open();
    await page.getByText('This sync was already open.').waitFor();
    await page.getByLabel('URLs, one per line').fill(url(0));
    for (const name of ['Send the list', 'Preview the commit', 'Abandon …'])
      expect(await button(page, name).getAttribute('aria-disabled')).toBe('true');
    expect(await tab.inaccessible()).toEqual([]);
    await tab.leave(401, 409);
  });

  it('isn’t for a multiset', async () => {
    const name = freshName('bag');
    await client
      .filter(name)
      .create({ type: 'counting', semantics: 'multiset', capacity: 100, errorRate: 0.01 });
    const tab = await visit(browser, app.url, `#/filters/${name}/sync`);
    await signIn(tab.page, admin.key);
    await tab.page.getByText('A multiset cannot be synced').waitFor();
    await tab.goTo('#/filters/no-such-filter/sync');
    await tab.page.getByText('This filter does not exist').waitFor();
    await tab.close();
  });
});
