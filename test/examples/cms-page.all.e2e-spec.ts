import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { findChromium } from '../../scripts/find-chromium.mjs';
import { sharedBrowser, why as noBrowser } from '../dashboard/browser.js';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { buildExample, whySkipped, type Example } from '../support/example.js';
import { Cms } from './cms-stage.js';

const why = whySkipped('cms') || noBrowser;
const describePage = why === '' && findChromium() ? describe : describe.skip;
const browser = sharedBrowser();

const ARGS = ['--every', '86400', '--patience', '50'];
const WIDTHS = [1_400, 800, 360];
const OVERFLOW = 'Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)';

interface Stateful {
  readonly ariaDisabled: string | null;
}
const ariaDisabledOf = (buttons: unknown[]) => (buttons as Stateful[]).map((button) => button.ariaDisabled);

describePage(`the page of examples/cms${why}`, () => {
  let app: TestApp;
  let example: Example;
  let cms: Cms;
  let page: Page;
  beforeAll(async () => {
    app = await startApp();
    example = await buildExample('cms');
    cms = await Cms.start(example.folder, [...ARGS, '--unseen', app.url, '--set', freshName('cms')]);
    const context = await browser.newContext({ viewport: { width: 1_400, height: 800 } });
    page = await context.newPage();
    await page.goto(cms.url);
  });
  afterAll(async () => {
    await page.context().close();
    await cms.clean();
    await example.remove();
    await app.close();
  });

  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const said = (text: string | RegExp) => page.locator('#said').getByText(text).waitFor();
  /** Resolves when no action is in progress. */
  const idle = () => page.getByRole('button', { name: 'Upload', disabled: false }).waitFor();
  const upload = async (url: string, title: string): Promise<void> => {
    await page.getByLabel('URL', { exact: true }).fill(url);
    await page.getByLabel('Title', { exact: true }).fill(title);
    await button('Upload').click();
  };
  /** Expects sentences: no braces, member names, or anything else that looks like JSON. */
  const expectSentences = async (): Promise<void> => {
    expect(await page.locator('body').innerText()).not.toMatch(
      /[{}]|"\w+":|liveUntil|staleArticles|undefined|null/,
    );
  };

  it('reports events in sentences', async () => {
    await page.getByText('No articles yet.').waitFor();
    await upload('https://example.org/one', 'One');
    await said('“One” was stored.');
    await upload('https://example.org/%6Fne', 'Again');
    await said(/^The URL was seen\..*tick the box/);
    await expectSentences();
    await upload('https://example.org/a-long-path/'.repeat(6), 'Long');
    await said('“Long” was stored.');
    await button('Look at the sources').click();
    await said('The sources have 0 links, 0 of them new.');
    await button('What would the nightly sync forget?').click();
    await said('The sync would forget 0 of 2 URLs, including 0 stale articles.');
    await expectSentences();
  });

  it('shows that its buttons do nothing during an action, until it has shown the result', async () => {
    const articles = (url: URL) => url.pathname === '/articles';
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route(articles, async (route) => {
      await held;
      await route.continue();
    });
    await button('Look at the sources').click();
    await said('The sources have 0 links, 0 of them new.');
    const states = () => page.locator('button:visible').evaluateAll(ariaDisabledOf);
    expect(new Set(await states())).toEqual(new Set(['true']));
    release();
    await idle();
    await page.unroute(articles);
    expect(new Set(await states())).not.toContain('true');
  });

  it.each(WIDTHS)('fits a screen %d px wide, including when it asks to confirm a deletion', async (width) => {
    await page.setViewportSize({ width, height: 800 });
    expect(await page.evaluate<number>(OVERFLOW)).toBe(0);
    await button('Delete One …').click();
    const dialog = page.getByRole('dialog', { name: 'Delete “One”?' });
    expect((await dialog.boundingBox())!.width).toBeLessThanOrEqual(width);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await idle();
    for (const control of await page.locator('button:visible, input:visible, textarea:visible').all()) {
      const box = (await control.boundingBox())!;
      expect(box.x).toBeGreaterThanOrEqual(0);
      expect(box.x + box.width).toBeLessThanOrEqual(width);
    }
    expect(await cms.articles()).toHaveLength(2);
  });

  it('asks before it syncs, and forces a sync only if the user confirmed it', async () => {
    const one = (await cms.byUrl('https://example.org/one'))!;
    await cms.call('PATCH', `/articles/${one.id}`, { liveUntil: '2020-01-01T00:00:00Z' });
    await cms.call('DELETE', `/articles/${(await cms.articles()).find(({ title }) => title === 'Long')!.id}`);
    await cms.told();
    await button('Sync now …').click();
    const dialog = page.getByRole('dialog', { name: 'Sync now?' });
    await dialog.getByText('One (https://example.org/one)').waitFor();
    await dialog.getByText(/more than Unseen allows/).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect((await cms.call('POST', '/sync/preview')).body).toMatchObject({ forgotten: 1 });
    await button('Sync now …').click();
    await dialog.getByRole('button', { name: 'Force the sync' }).click();
    await said('Unseen forgot 1 of 1 URL, including 1 stale article.');
    await expectSentences();
  });

  it('deletes the chosen article, and says so', async () => {
    await button('Delete One …').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await said('“One” was deleted.');
    expect(await cms.articles()).toEqual([]);
    await page.getByText('No articles yet.').waitFor();
  });

  it('says that the CMS is unavailable', async () => {
    await cms.kill();
    await button('Look at the sources').click();
    await said('The CMS does not answer. Is it running?');
    await expectSentences();
  });
});
