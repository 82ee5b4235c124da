import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { UnseenClient } from '#client';
import { startApp, type TestApp } from '../support/app.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { describeInBrowser, sharedBrowser, visit, why } from './browser.js';

const browser = sharedBrowser();

describeInBrowser.each(['embedded', 'redis'])(`explanations, %s store${why}`, (store) => {
  let redis: RedisServer | undefined;
  let app: TestApp;
  let client: UnseenClient;
  beforeAll(async () => {
    if (store === 'redis') redis = await startRedis();
    app = await startApp(redis ? { REDIS_URL: redis.url } : {});
    client = new UnseenClient({ url: app.url });
  });
  afterAll(async () => {
    await app.close();
    await redis?.stop();
  });

  it('show a URL’s key, its counters, and the result', async () => {
    await client.visitedSet('crawl').create({ capacity: 100, growth: 'auto', errorRate: 1e-6 });
    await client.visitedSet('crawl').visit('https://example.org/?a=1&b=2');
    const tab = await visit(browser, app.url, '#/sets/crawl/use');
    const { page } = tab;
    await page.getByLabel('URLs, one per line').fill('HTTPS://Example.org:443?b=2&a=1#top');
    await page.getByRole('button', { name: 'Check 1 URL' }).click();
    await page.getByRole('link', { name: /^Explain/ }).click();
    await page.getByRole('heading', { name: 'Explain an answer from crawl' }).waitFor();
    const answer = page.getByRole('status', { name: 'The answer' });
    await answer.getByText('seen', { exact: true }).waitFor();
    await page.locator('.key', { hasText: 'https://example.org/?a=1&b=2' }).waitFor();
    const steps = await page.locator('.steps li b').allTextContents();
    expect(steps).toContain('S11');
    expect(steps).toContain('S12');
    const values = await page.locator('.cells b').allTextContents();
    expect(values.length).toBeGreaterThan(1);
    expect(new Set(values)).toEqual(new Set(['1']));
    if (redis) expect(await tab.inaccessible()).toEqual([]);
    expect(await tab.overflow()).toBe(0);

    await page.getByLabel('The URL').fill('https://example.org/other');
    await page.keyboard.press('Enter');
    await answer.getByText('unseen', { exact: true }).waitFor();
    // The field keeps the focus for the next URL.
    expect(await page.getByRole('textbox', { name: 'The URL' }).and(page.locator(':focus')).count()).toBe(1);
    await page.getByText('no rule changes it').waitFor();
    expect(await page.locator('.cells .zero').count()).toBeGreaterThan(0);
    await page.getByLabel('The URL').fill('mailto:a@example.org');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('Not a valid URL.').waitFor();
    await tab.leave();
  });

  it('have room for large counter positions', async () => {
    await client.visitedSet('large').create({ capacity: 100 });
    const tab = await visit(browser, app.url, '#/', { viewport: { width: 360, height: 800 } });
    const { page } = tab;
    await page.route('**/urls/explain', async (route) => {
      const response = await route.fetch();
      const answer = (await response.json()) as { urls: { layers: { counters: { index: number }[] }[] }[] };
      for (const { counters } of answer.urls[0]!.layers)
        counters.forEach((counter, i) => (counter.index = 4_123_456_780 + i));
      await route.fulfill({ response, json: answer });
    });
    await tab.goTo('#/sets/large/explain?item=https%3A%2F%2Fexample.org%2F');
    const boxes = page.locator('.cells li');
    await boxes.getByText('#4,123,456,780').first().waitFor();
    const wide = await boxes.evaluateAll((nodes) =>
      nodes.map((node) => {
        const { scrollWidth, clientWidth } = node as { scrollWidth: number; clientWidth: number };
        return scrollWidth - clientWidth;
      }),
    );
    expect(wide.filter((pixels) => pixels > 0)).toEqual([]);
    expect(await tab.overflow()).toBe(0);
    await tab.leave();
  });

  it('show the same counters for an item as any other program reads', async () => {
    await client
      .filter('names')
      .create({ type: 'counting', capacity: 100, semantics: 'multiset', errorRate: 1e-6 });
    await client.filter('names').add(['alpha', 'alpha', 'alpha']);
    const tab = await visit(browser, app.url, '#/filters/names/explain?item=alpha');
    const { page } = tab;
    await page.getByRole('status', { name: 'The answer' }).getByText('seen', { exact: true }).waitFor();
    const values = (await page.locator('.cells b').allTextContents()).map(Number);
    expect(Math.min(...values)).toBe(3);
    const command = page.getByRole('group', { name: 'Command that reads these counters' });
    expect(await command.count()).toBe(redis ? 1 : 0);
    if (redis) {
      const text = (await command.textContent()) ?? '';
      const [program, ...words] = text.replaceAll("'", '').split(' ');
      expect(program).toBe('redis-cli');
      const direct = new Redis(redis.url);
      expect(await direct.call(...(words as [string]))).toEqual(values);
      direct.disconnect();
      // Start waiting before the click, because the text disappears by itself.
      const copied = page
        .getByText('Copied', { exact: true })
        .or(page.getByText('Selected', { exact: true }))
        .first()
        .waitFor();
      await page.getByRole('button', { name: 'Copy: Command that reads these counters' }).click();
      await copied;
    }
    if (redis) expect(await tab.inaccessible()).toEqual([]);
    await tab.leave();
  });

  it('name layers as the set’s screen does', async () => {
    const grown = client.filter('grown');
    await grown.create({ type: 'counting', capacity: 50, errorRate: 1e-6, growth: 'auto' });
    await grown.add(Array.from({ length: 80 }, (_, i) => `item ${i}`));
    const tab = await visit(browser, app.url, '#/filters/grown/explain?item=item 79');
    await tab.page.getByText('In layer 2, all').waitFor();
    await tab.page.getByText('layer 1 does not claim it').waitFor();
    const names = await tab.page.getByRole('heading', { name: /^Layer/ }).allInnerTexts();
    await tab.goTo('#/filters/grown');
    const layers = tab.page.getByRole('table', { name: 'Layers' }).getByRole('rowheader');
    await layers.first().waitFor();
    expect((await layers.allInnerTexts()).map((text) => `Layer ${text}`)).toEqual(names);
    await tab.leave();
  });

  it('show how long a set that ages claims a URL', async () => {
    await client.visitedSet('ageing').create({ capacity: 100, maxAgeSeconds: 86_400 });
    await client.visitedSet('ageing').visit('https://example.org/');
    const tab = await visit(browser, app.url, '#/sets/ageing/explain?item=https%3A%2F%2Fexample.org%2F');
    await tab.page.getByText(/claimed until .* unless it is visited again/).waitFor();
    await tab.leave();
  });

  it('explain why a forgotten URL is not seen although other URLs keep its counters', async () => {
    const crowded = client.visitedSet('crowded');
    await crowded.create({ capacity: 400, errorRate: 0.1, growth: 'none', maxAgeSeconds: 86_400 });
    const urls = Array.from({ length: 700 }, (_, i) => `https://example.org/${i}`);
    const visited = await crowded.visit(urls);
    // With so many URLs, some URLs share all their counters with other URLs.
    const forgotten = urls.filter((_, i) => visited[i] === 'new').slice(0, 90);
    await crowded.forget(forgotten);
    const { url } = (await crowded.explain(forgotten)).find(({ hidden }) => hidden)!;
    const tab = await visit(browser, app.url, `#/sets/crowded/explain?item=${encodeURIComponent(url)}`);
    const { page } = tab;
    const answer = page.getByRole('status', { name: 'The answer' });
    await answer.getByText('unseen', { exact: true }).waitFor();
    await answer.getByText('It was forgotten, but other URLs keep all its counters above zero').waitFor();
    await page.getByText(/If nothing changes, other URLs keep them above zero until /).waitFor();
    await page.getByText('kept by other URLs', { exact: true }).waitFor();
    expect(await page.locator('.cells .zero').count()).toBe(0);
    if (redis) expect(await tab.inaccessible()).toEqual([]);
    await tab.goTo('#/sets/crowded');
    await page.getByText(/ more were forgotten, but other URLs keep all their counters/).waitFor();
    await tab.leave();
  });
});
