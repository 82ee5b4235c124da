import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { UnseenClient } from '#client';
import { startApp, type TestApp } from '../support/app.js';
import { until } from '../support/until.js';
import { describeInBrowser, sharedBrowser, visit, why, type Visit } from './browser.js';

const browser = sharedBrowser();

/** Makes each canvas record the texts drawn on it since it was last cleared. */
const KEEP_TEXTS = `(() => {
  const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    (this.canvas.texts ??= []).push(text);
    return fillText.call(this, text, ...rest);
  };
  CanvasRenderingContext2D.prototype.clearRect = function (...rest) {
    this.canvas.texts = [];
    return clearRect.apply(this, rest);
  };
})()`;

describeInBrowser(`charts${why}`, () => {
  let app: TestApp;
  let tab: Visit;
  beforeAll(async () => {
    app = await startApp();
    await new UnseenClient({ url: app.url }).visitedSet('young').create({ capacity: 1_000 });
  });
  afterAll(() => app.close());

  /** Serves a history with these item counts, one point per minute. */
  async function remember(page: Page, items: readonly number[]): Promise<void> {
    const points = items.map((count, i) => ({
      at: new Date(Date.UTC(2030, 0, 1, 12, i, 20)).toISOString(),
      ...{ items: count, fill: 0, estimatedErrorRate: 0, added: count, duplicate: 0, removed: 0, refused: 0 },
      queue: { waiting: count, leased: 0, delayed: 0, scheduled: 0, dead: 0 },
    }));
    const history = { watched: true, since: points[0]!.at, intervalSeconds: 60, points };
    await page.route(/\/history\?/, (route) => route.fulfill({ json: history }));
  }

  const labelsOf = async (chart: Locator): Promise<readonly string[]> => {
    let labels: readonly string[] = [];
    await until('the ticks of the chart are drawn', async () => {
      labels = await chart.locator('canvas').evaluate((node) => (node as { texts?: string[] }).texts ?? []);
      return labels.some((label) => /^\d\d:\d\d$/.test(label));
    });
    return labels.filter((label) => label !== '');
  };

  it.each([
    [2, [0, 1]],
    [3, [1, 1, 1]],
    [5, [0, 1, 2, 3, 3]],
    [20, Array.from({ length: 20 }, (_, i) => i % 4)],
  ])('have ticks with distinct labels in the first minutes: %d points', async (_, items) => {
    tab = await visit(browser, app.url);
    const { page } = tab;
    await page.evaluate(KEEP_TEXTS);
    await remember(page, items);
    await tab.goTo('#/sets/young');
    for (const title of ['Items', 'Queue', 'Events per second']) {
      const labels = await labelsOf(page.getByRole('figure', { name: title, exact: true }));
      const clocks = labels.filter((label) => label.includes(':'));
      const numbers = labels.filter((label) => !label.includes(':'));
      expect({ title, clocks }).toEqual({ title, clocks: [...new Set(clocks)] });
      expect({ title, numbers }).toEqual({ title, numbers: [...new Set(numbers)] });
    }
    await tab.leave();
  });

  it('that can’t be loaded say so, and show their numbers as a table', async () => {
    tab = await visit(browser, app.url);
    const { page } = tab;
    await page.route(/\/uPlot[^/]*\.js$/, (route) => route.abort());
    await tab.goTo('#/sets/young');
    const items = page.getByRole('figure', { name: 'Items', exact: true });
    await items.getByText('The chart could not be loaded.').waitFor();
    await items.getByRole('button', { name: 'Items as a table' }).click();
    expect(await items.getByRole('row').count()).toBeGreaterThan(100);
    await tab.leave('away');
  });
});
