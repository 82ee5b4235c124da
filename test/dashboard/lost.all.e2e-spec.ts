import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { UnseenClient } from '#client';
import { LOSING, type LosingService } from '../support/losing-services.js';
import { describeInBrowser, sharedBrowser, visit, why, type Visit } from './browser.js';

const browser = sharedBrowser();

const URLS = ['https://example.org/a', 'https://example.org/b'];
const LOSS = 'The store has lost data for this visited set.';

describeInBrowser.each(LOSING)(`a set whose data is lost, %s store${why}`, (store, start) => {
  /** Checked once, because the page is the same on both stores. */
  const inaccessible = async (): Promise<string[]> => (store === 'embedded' ? tab.inaccessible() : []);
  let service: LosingService;
  let client: UnseenClient;
  let tab: Visit;
  beforeAll(async () => {
    service = await start();
    const made = new UnseenClient({ url: service.app.url });
    for (const name of ['crawl', 'old', 'whole']) {
      await made.visitedSet(name).create({ capacity: 1_000 });
      await made.visitedSet(name).discover(URLS);
    }
    const lost = [await made.visitedSet('crawl').describe(), await made.visitedSet('old').describe()];
    for (const one of lost) await service.lose(one);
    client = new UnseenClient({ url: service.app.url });
  });
  afterAll(() => service.stop());

  it('is listed as lost among the others', async () => {
    tab = await visit(browser, service.app.url, '#/?sort=-state');
    const { page } = tab;
    const row = page.getByRole('row', { name: /^crawl / });
    await row.getByText('data lost', { exact: true }).waitFor();
    expect(await row.innerText()).toMatch(/–\s+of 1,000/);
    await page.getByText('If the store has lost a set’s data').waitFor();
    expect(await page.locator('.list tbody .name a').allInnerTexts()).toEqual(['crawl', 'old', 'whole']);
    const whole = page.getByRole('row', { name: /^whole / });
    expect(await whole.innerText()).toMatch(/2 of 1,000/);
    expect(await whole.getByText('data lost').count()).toBe(0);
    expect(await inaccessible()).toEqual([]);
    expect(tab.complaints()).toEqual([]);
  });

  it('says so on its own screen, which offers no action that would be refused', async () => {
    const { page } = tab;
    await page.getByRole('link', { name: 'crawl', exact: true }).click();
    await page.getByRole('alert').getByText(LOSS).waitFor();
    await page.getByText('data lost', { exact: true }).waitFor();
    expect(await page.getByRole('main').getByRole('link').allInnerTexts()).toEqual(['Sets and filters']);
    expect(await page.getByRole('main').getByRole('button').allInnerTexts()).toEqual(['Clear …', 'Delete …']);
    // Only the set has a problem, so no banner appears.
    expect(await page.locator('.banner').innerText()).toBe('');
    expect(await inaccessible()).toEqual([]);
  });

  it.each(['use', 'sync', 'explain?item=https%3A%2F%2Fexample.org%2Fa', 'export'])(
    'says so on each screen about it: %s',
    async (screen) => {
      const { page } = tab;
      await tab.goTo(`#/sets/crawl/${screen}`);
      const alert = page.getByRole('alert');
      await alert.getByText(LOSS).waitFor();
      expect(await page.getByRole('button', { name: /^(?:Check|Send the list|Open|Export)/ }).count()).toBe(
        0,
      );
      expect(await inaccessible()).toEqual([]);
      await alert.getByRole('link', { name: 'crawl' }).click();
      await page.getByRole('button', { name: 'Clear …' }).waitFor();
    },
  );

  it('works again after a clear, confirmed by its name', async () => {
    const { page } = tab;
    await page.getByRole('button', { name: 'Clear …' }).click();
    const dialog = page.getByRole('dialog', { name: 'Clear crawl?' });
    await dialog.getByText('This deletes everything in it.').waitFor();
    expect(await dialog.getByRole('button', { name: 'Clear' }).isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill('crawl');
    await dialog.getByRole('button', { name: 'Clear' }).click();
    await page.getByRole('heading', { name: 'Layers' }).waitFor();
    expect(await page.getByText('data lost').count()).toBe(0);
    expect(await page.getByText(LOSS).count()).toBe(0);
    await page.getByRole('link', { name: 'URLs …' }).click();
    await page.getByLabel('URLs, one per line').fill(URLS.join('\n'));
    await page.getByLabel('Visit', { exact: true }).check();
    await page.getByRole('button', { name: 'Visit 2 URLs' }).click();
    await page.getByText('Done: 2 lines.').waitFor();
    expect(await client.visitedSet('crawl').describe()).toMatchObject({ items: 2 });
  });

  it('can be deleted, confirmed by its name', async () => {
    const { page } = tab;
    await tab.goTo('#/sets/old');
    await page.getByRole('button', { name: 'Delete …' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('old');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Sets and filters' }).waitFor();
    await page.getByRole('row', { name: /^crawl / }).waitFor();
    await page.getByRole('row', { name: /^old / }).waitFor({ state: 'detached' });
    await page.getByText('If the store has lost a set’s data').waitFor({ state: 'detached' });
    await expect(client.visitedSet('old').describe()).rejects.toThrow('VISITED_SET_NOT_FOUND');
    await tab.leave(503);
  });
});
