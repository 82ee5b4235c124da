import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Locator } from 'playwright-core';
import { UnseenClient } from '#client';
import { startApp, type TestApp } from '../support/app.js';
import { until } from '../support/until.js';
import { describeInBrowser, holdAfter, sharedBrowser, visit, why, type Visit } from './browser.js';

const urls = (count: number): string[] => Array.from({ length: count }, (_, i) => `https://example.org/${i}`);

const browser = sharedBrowser();

/** The canvas members used here, because tests don't have browser types. */
interface Canvas {
  readonly width: number;
  readonly height: number;
  getContext(kind: '2d'): {
    getImageData(x: number, y: number, width: number, height: number): { readonly data: Uint8ClampedArray };
  };
}

/** Whether any pixel on the canvas isn't transparent. */
const isDrawn = (chart: Locator): Promise<boolean> =>
  chart.locator('canvas').evaluate((node) => {
    const canvas = node as unknown as Canvas;
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return data.some((value, i) => i % 4 === 3 && value > 0);
  });

/** The number of pixels by which the content is wider than its element. */
const tooWide = (node: unknown): number => {
  const { scrollWidth, clientWidth } = node as Record<'scrollWidth' | 'clientWidth', number>;
  return scrollWidth - clientWidth;
};

/** A browser function that Node.js doesn't declare. */
interface Styles {
  getComputedStyle(node: unknown): { readonly backgroundColor: string };
}

const backgroundOf = (node: unknown): string =>
  (globalThis as unknown as Styles).getComputedStyle(node).backgroundColor;

/** The value with this name in a list of facts or figures. */
const valueOf = (within: Locator, name: string): Promise<string> =>
  within.locator(`xpath=.//div[dt[normalize-space()="${name}"]]/dd`).innerText();

describeInBrowser(`the dashboard${why}`, () => {
  let app: TestApp;
  let client: UnseenClient;
  let tab: Visit;
  beforeAll(async () => {
    app = await startApp();
    client = new UnseenClient({ url: app.url });
  });
  afterAll(() => app.close());

  it('plans a visited set as the user types, and creates it', async () => {
    tab = await visit(browser, app.url, '#/new');
    const { page } = tab;
    const plan = page.getByRole('region', { name: 'Memory needed' });
    await plan.getByText('11.7 MB').first().waitFor();
    await page.getByLabel('Capacity', { exact: true }).fill('2M');
    await page.getByLabel('Error rate', { exact: true }).fill('1 in 100');
    await plan.getByText('176 MB').waitFor();
    const grown = await client.plan({ type: 'counting', capacity: 2e6, errorRate: 0.01, growth: 'auto' });
    expect(await plan.getByRole('row').count()).toBe(1 + grown.plannedLayers!.length);
    await page.getByLabel('Grow when full').uncheck();
    await plan.getByRole('row').first().waitFor({ state: 'detached' });
    const planned = await client.plan({ type: 'counting', capacity: 2_000_000, errorRate: 0.01 });
    expect(await valueOf(plan, 'Hashes')).toBe(String(planned.geometry.hashes));
    await page.getByLabel('Forget after', { exact: true }).fill('7');
    await page.getByLabel('Attempts', { exact: true }).fill('3');
    await page.getByLabel('Ignore tracking parameters').check();
    await page.getByRole('button', { name: 'Create the visited set' }).click();
    await page.getByText('Enter a name').waitFor();
    expect(await page.evaluate('document.activeElement.name')).toBe('name');
    expect(await tab.inaccessible()).toEqual([]);
    await page.getByLabel('Name', { exact: true }).fill('fresh');
    await page.getByRole('button', { name: 'Create the visited set' }).press('Enter');
    await page.getByRole('heading', { name: 'fresh' }).waitFor();
    expect(await client.visitedSet('fresh').describe()).toMatchObject({
      capacity: 2_000_000,
      errorRate: 0.01,
      growth: 'none',
      maxAgeSeconds: 7 * 86_400,
      maxAttempts: 3,
      urlProfile: { base: 'safe', stripTracking: true },
    });
    // A new screen's heading has the focus.
    await until('the heading has the focus', () =>
      page.evaluate<boolean>("document.activeElement.textContent === 'fresh'"),
    );
    await tab.leave();
  });

  it('creates a set with perHost, and shows its limits', async () => {
    tab = await visit(browser, app.url, '#/new');
    const { page } = tab;
    await page.getByLabel('Name', { exact: true }).fill('polite');
    await page.getByLabel('Take turns between hosts').check();
    await page.getByLabel('Seconds between requests').fill('2.5');
    await page.getByLabel('Leased at a time').fill('1');
    await page.getByLabel('URLs per host').fill('1000');
    await page.getByRole('button', { name: 'Create the visited set' }).click();
    await page.getByText('Enter a whole number, or leave the field empty').waitFor();
    expect(await page.evaluate('document.activeElement.name')).toBe('delaySeconds');
    await page.getByLabel('Seconds between requests').fill('90000');
    await page.getByRole('button', { name: 'Create the visited set' }).click();
    await page.getByText('perHost.delaySeconds must be a whole number from 1 to 86400, not 90000').waitFor();
    expect(await tab.inaccessible()).toEqual([]);
    await page.getByLabel('Seconds between requests').fill('2');
    await page.getByRole('button', { name: 'Create the visited set' }).click();
    await page.getByRole('heading', { name: 'polite' }).waitFor();
    expect(await client.visitedSet('polite').describe()).toMatchObject({
      perHost: { delaySeconds: 2, maxLeased: 1, maxUrls: 1_000 },
    });
    const settings = page.getByRole('region', { name: 'Settings' });
    expect(await valueOf(settings, 'Hosts')).toBe(
      'take turns, 2 s apart, 1 leased at a time, at most 1,000 URLs each',
    );
    await tab.close();
  });

  it('creates a filter, and shows the service’s refusals at the field', async () => {
    tab = await visit(browser, app.url, '#/new?kind=filters');
    const { page } = tab;
    await page.getByLabel('Name', { exact: true }).fill('Fresh Names');
    await page.getByRole('radio', { name: /^Bits/ }).check();
    await page.getByRole('button', { name: 'Create the filter' }).click();
    await page.getByText(/begin with a letter or digit/).waitFor();
    expect(await page.getByLabel('Name', { exact: true }).getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Name', { exact: true }).fill('fresh');
    await page.getByRole('button', { name: 'Create the filter' }).click();
    await page.getByText('This name is already taken').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('fresh-names');
    await page.getByRole('button', { name: 'Create the filter' }).click();
    await page.getByRole('heading', { name: 'fresh-names' }).waitFor();
    expect(await client.filter('fresh-names').describe()).toMatchObject({ type: 'standard', growth: 'auto' });
    await tab.close();
  });

  it('marks every faulty field in a form, and focuses the first', async () => {
    tab = await visit(browser, app.url, '#/new');
    const { page } = tab;
    const wrong = page.locator('[aria-invalid]');
    const isFocused = (label: string): Promise<boolean> =>
      page
        .getByLabel(label, { exact: true })
        .evaluate((node) => (node as { matches(text: string): boolean }).matches(':focus'));
    await page.getByLabel('Name', { exact: true }).fill('Fresh Names');
    await page.getByLabel('Capacity').fill('many');
    await page.getByLabel('Attempts').fill('none');
    await page.getByRole('button', { name: 'Create the visited set' }).click();
    await until('the first faulty field has the focus', () => isFocused('Name'));
    expect(await wrong.count()).toBe(3);
    // Faults that only the service finds are marked as well.
    await page.getByLabel('Name', { exact: true }).fill('marked');
    await page.getByLabel('Capacity').fill('9e15');
    await page.getByLabel('Attempts').fill('9e12');
    await page.getByRole('button', { name: 'Create the visited set' }).click();
    await until('the first faulty field has the focus', () => isFocused('Capacity'));
    expect(await wrong.count()).toBe(2);
    await tab.leave(400);
  });

  it('shows everything about a set', async () => {
    const crawl = client.visitedSet('crawl');
    await crawl.create({ capacity: 2_000, maxAttempts: 1 });
    await crawl.discover(urls(3_000));
    await crawl.discover(urls(100));
    const leased = await crawl.lease({ max: 20, leaseSeconds: 600 });
    await crawl.release(
      leased.slice(0, 5).map(({ id }) => id),
      { reason: 'HTTP 503' },
    );
    const sync = await crawl.syncs.open();
    await sync.keep(urls(700));

    tab = await visit(browser, app.url, '#/sets/crawl');
    const { page } = tab;
    await page.getByRole('heading', { name: 'Layers' }).waitFor();
    const numbers = page.getByRole('region', { name: 'Numbers' });
    expect(await valueOf(numbers, 'Items')).toMatch(/^(?:3,000|2,99\d)\s+of 7,400/);
    expect(await valueOf(numbers, 'Error rate now')).toMatch(/promised: 0\.01 %/);
    const queue = page.getByRole('region', { name: 'Queue' });
    expect(await valueOf(queue, 'Leased')).toBe('15');
    expect(await valueOf(queue, 'Dead')).toBe('5');
    const progress = page.getByRole('region', { name: 'Sync' });
    expect(await valueOf(progress, 'Listed')).toBe('700 lines');
    // All URLs are queued, and a sync keeps queued URLs.
    expect(await valueOf(progress, 'Would stay')).toMatch(/^(\d,\d{3}) of \1 items$/);
    expect(await page.getByRole('table', { name: 'Layers' }).getByRole('row').count()).toBe(3);
    expect(await valueOf(page.getByRole('region', { name: 'Settings' }), 'Attempts')).toBe('1');
    // The counters have their own request, which may end later than the others.
    const counters = page.getByRole('table', { name: 'Counters by value' });
    await counters.waitFor();
    expect(await counters.getByRole('row').count()).toBeGreaterThan(3);
    expect(await tab.inaccessible()).toEqual([]);
    expect(tab.complaints()).toEqual([]);
    await sync.abandon();
  });

  it('draws the history, and shows each chart as a table', async () => {
    const { page } = tab;
    const titles = ['Items', 'Error rate', 'Events per second', 'Queue', 'Error rate by items'];
    const chartOf = (title: string): Locator => page.getByRole('figure', { name: title, exact: true });
    const rowsOf = (title: string): Locator => chartOf(title).getByRole('row');
    for (const title of titles) {
      const chart = chartOf(title);
      expect(await isDrawn(chart)).toBe(true);
      await chart.getByRole('button', { name: `${title} as a table`, exact: true }).click();
      expect(await chart.getByRole('row').count()).toBeGreaterThan(100);
    }
    expect(await rowsOf('Events per second').nth(2).innerText()).toMatch(/1\.83\s+4\s+0\.167$/);
    // At capacity, a set has the error rate for its size, minus the later layers' share.
    expect(await rowsOf('Error rate by items').last().innerText()).toMatch(/^7,400\s+0\.00\d+ %\s+0\.01 %/);
    // One open table is enough for axe.
    for (const title of titles.slice(1))
      await page.getByRole('button', { name: `${title} as a table`, exact: true }).click();
    expect(await tab.inaccessible()).toEqual([]);
    expect(tab.complaints()).toEqual([]);
  });

  it('puts dead letters back, and purges them', async () => {
    const { page } = tab;
    const queue = page.getByRole('region', { name: 'Queue' });
    const letters = queue.getByRole('table', { name: 'Dead letters' });
    expect(await letters.getByRole('row').nth(1).innerText()).toMatch(/HTTP 503\s+1 ×$/);
    await letters.getByRole('checkbox').nth(0).check();
    await letters.getByRole('checkbox').nth(1).check();
    await queue.getByRole('button', { name: 'Put back' }).click();
    await queue.getByText('2 URLs put back into the queue.').waitFor();
    await queue.getByLabel('Select all shown').check();
    await queue.getByRole('button', { name: 'Purge …' }).click();
    expect(await tab.inaccessible()).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Purge' }).click();
    await queue.getByText('3 URLs purged.').waitFor();
    await letters.waitFor({ state: 'detached' });
    expect(await client.visitedSet('crawl').describe()).toMatchObject({ queue: { dead: 0, leased: 15 } });
    expect(tab.complaints()).toEqual([]);
  });

  it.each([
    ['a phone', 360, 'dark'],
    ['a tablet', 800, 'light'],
  ] as const)('is readable on %s', async (_, width, colorScheme) => {
    const narrow = await visit(browser, app.url, '#/sets/crawl', {
      viewport: { width, height: 800 },
      colorScheme,
    });
    await narrow.page.getByRole('heading', { name: 'Layers' }).waitFor();
    expect(await narrow.overflow()).toBe(0);
    expect(await narrow.inaccessible()).toEqual([]);
    await narrow.goTo('#/new');
    await narrow.page.getByText('11.7 MB').first().waitFor();
    expect(await narrow.overflow()).toBe(0);
    expect(await narrow.inaccessible()).toEqual([]);
    await narrow.leave();
  });

  it('shows an action’s result, not a pending answer from before it', async () => {
    await client.filter('stale').create({ type: 'counting', capacity: 1_000, errorRate: 0.01 });
    await client.filter('stale').add(['a', 'b']);
    const other = await visit(browser, app.url, '#/filters/stale');
    const { page } = other;
    const items = (): Promise<string> => valueOf(page.getByRole('region', { name: 'Numbers' }), 'Items');
    await until('the set has two items', async () => (await items()).startsWith('2'));
    await page.getByRole('button', { name: 'Clear …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('2 items').waitFor();
    await dialog.getByRole('textbox').fill('stale');
    await page.clock.install();
    const asked = new Promise<() => void>((resolve) => {
      void page.route(
        '**/v1/filters/stale',
        async (route) => {
          const answer = await route.fetch();
          await new Promise<void>((letGo) => resolve(letGo));
          await route.fulfill({ response: answer });
        },
        { times: 1 },
      );
    });
    await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
    const letGo = await asked;
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    // From here on, no poll is due. The call fails if the page's clock has already passed the given time.
    await until('the page’s clock is paused', () =>
      page.clock.pauseAt(Date.now() + 1_000).then(
        () => true,
        () => false,
      ),
    );
    letGo();
    await until('the set is empty', async () => (await items()).startsWith('0'));
    await other.leave();
  });

  it('doesn’t navigate if the user has gone to another screen', async () => {
    await client.filter('brief').create({ type: 'counting', capacity: 1_000, errorRate: 0.01 });
    const busy = await visit(browser, app.url, '#/new?kind=filters');
    const { page } = busy;
    const been = 'addEventListener("hashchange", () => (globalThis.been ??= []).push(location.hash))';
    await page.evaluate(`void ${been}`);
    await page.getByLabel('Name', { exact: true }).fill('late');
    const made = await holdAfter(page, '/v1/filters', 0);
    await page.keyboard.press('Enter');
    await made.held;
    await busy.goTo('#/filters/brief');
    await page.getByRole('button', { name: 'Delete …' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('brief');
    const dropped = await holdAfter(page, '/v1/filters/brief', 0, 'DELETE');
    await page.keyboard.press('Enter');
    await dropped.held;
    expect(await page.getByRole('button', { name: 'Keep it' }).isDisabled()).toBe(true);
    await busy.goTo('#/import');
    await page.getByRole('heading', { name: 'Import' }).waitFor();
    for (const [path, { letGo }] of [
      ['/v1/filters', made] as const,
      ['/v1/filters/brief', dropped] as const,
    ]) {
      const done = page.waitForResponse(`**${path}`);
      letGo();
      await (await done).finished();
    }
    await busy.goTo('#/nowhere');
    await page.getByRole('heading', { name: 'This screen does not exist' }).waitFor();
    await page.locator('h1:focus').waitFor();
    expect(await page.evaluate('globalThis.been')).toEqual(['#/filters/brief', '#/import', '#/nowhere']);
    await busy.leave();
  });

  it('has room for the longest name, and shows selection in forced colours', async () => {
    const name = `${'a'.repeat(62)}.b`;
    await client.filter(name).create({ type: 'counting', capacity: 1_000, errorRate: 0.01 });
    const small = await visit(browser, app.url, `#/filters/${name}`, {
      viewport: { width: 320, height: 640 },
      forcedColors: 'active',
    });
    const { page } = small;
    await page.getByRole('button', { name: 'Delete …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('0 items').waitFor();
    expect(await dialog.evaluate(tooWide)).toBe(0);
    await page.keyboard.press('Escape');
    expect(await small.overflow()).toBe(0);
    await small.goTo('#/new');
    const colourOf = (option: string): Promise<string> =>
      page.locator('.segments label', { hasText: option }).evaluate(backgroundOf);
    await page.getByRole('radio', { name: 'Safe' }).waitFor();
    expect(await colourOf('Safe')).not.toBe(await colourOf('Strict'));
    // An earlier refusal isn't shown for a changed form.
    await page.getByLabel('Capacity', { exact: true }).fill('1e300');
    await page.getByText('No plan available:').waitFor();
    await page.getByLabel('Capacity', { exact: true }).fill('many');
    await page.getByText('No plan available:').waitFor({ state: 'detached' });
    await small.leave(400);
  });

  it('clears and deletes only after the name is typed', async () => {
    const { page } = tab;
    await page.getByRole('button', { name: 'Clear …' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('button', { name: 'Clear' }).isDisabled()).toBe(true);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Clear …' }).click();
    await dialog.getByRole('textbox').fill('crawl');
    await dialog.getByRole('button', { name: 'Clear' }).click();
    await until('the set is empty', async () =>
      /^0\s/.test(await valueOf(page.getByRole('region', { name: 'Numbers' }), 'Items')),
    );
    await page.getByRole('button', { name: 'Delete …' }).click();
    await dialog.getByRole('textbox').fill('crawl');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Sets and filters' }).waitFor();
    await page.getByRole('link', { name: 'fresh', exact: true }).waitFor();
    expect(await page.getByRole('link', { name: 'crawl', exact: true }).count()).toBe(0);
    await tab.goTo('#/sets/crawl');
    await page.getByText('This visited set does not exist').waitFor();
    expect(await tab.inaccessible()).toEqual([]);
    await tab.close();
  });
});
