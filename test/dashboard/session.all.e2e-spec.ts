import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { UnseenClient } from '#client';
import { startApp, type TestApp } from '../support/app.js';
import { makeKey, type TestKey } from '../support/credentials.js';
import { freePort } from '../support/redis-server.js';
import { startProcess } from '../support/service-process.js';
import { describeInBrowser, sharedBrowser, signIn, visit, why } from './browser.js';

const browser = sharedBrowser();

describeInBrowser(`signing in${why}`, () => {
  let app: TestApp;
  let admin: TestKey;
  let client: UnseenClient;
  beforeAll(async () => {
    app = await startApp({ AUTH: 'keys' });
    admin = await makeKey(app, 'admin');
    client = new UnseenClient({ url: app.url, apiKey: admin.key });
    await client.visitedSet('crawl').create({ capacity: 1_000 });
    await client.visitedSet('acme-crawl').create({ capacity: 1_000 });
  });
  afterAll(() => app.close());

  it('asks for a key, reports a wrong one, and shows the requested screen', async () => {
    const tab = await visit(browser, app.url, '#/sets/crawl');
    const { page } = tab;
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await tab.inaccessible()).toEqual([]);
    await signIn(page, 'no-such-key');
    await page.getByText('The service does not accept this key.').waitFor();
    // No header can carry this key. That must not look as if the service were unavailable.
    await page.reload();
    await signIn(page, '“key”');
    await page.getByText('The service does not accept this key.').waitFor();
    expect(await page.getByText('The service does not answer.').count()).toBe(0);
    await page.locator('input:focus').waitFor();
    await signIn(page, admin.key);
    await page.getByRole('heading', { name: 'crawl' }).waitFor();
    // The field that had the focus is gone.
    await page.locator('h1:focus').waitFor();
    // The key belongs to this tab. Another tab asks again.
    expect(await page.evaluate('[localStorage.length, document.cookie]')).toEqual([0, '']);
    await page.reload();
    await page.getByRole('heading', { name: 'crawl' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You have signed out.').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    await tab.leave(401, 403);
  });

  it('shows a reader everything, and no button that would fail', async () => {
    const reader = await makeKey(app, 'read');
    const tab = await visit(browser, app.url);
    const { page } = tab;
    await signIn(page, reader.key);
    await page.getByRole('link', { name: 'crawl', exact: true }).waitFor();
    const make = page.getByRole('button', { name: 'New …' });
    expect(await make.getAttribute('aria-disabled')).toBe('true');
    expect(await make.getAttribute('title')).toBe('Needs a key with the scope “admin”');
    await page.getByRole('link', { name: 'crawl', exact: true }).click();
    await page.getByRole('heading', { name: 'crawl' }).waitFor();
    for (const name of ['Clear …', 'Delete …']) {
      await page.getByRole('button', { name }).click({ force: true });
      expect(await page.getByRole('dialog').count()).toBe(0);
    }
    await tab.goTo('#/new');
    await page.getByText('To create one, you need a key').waitFor();
    await page.getByRole('heading', { name: 'Memory needed' }).waitFor();
    expect(await tab.inaccessible()).toEqual([]);
    await tab.leave(401, 403);
  });

  it('shows a user with a prefix their own sets and filters', async () => {
    const tenant = await makeKey(app, 'admin', { prefix: 'acme-' });
    const tab = await visit(browser, app.url);
    const { page } = tab;
    await signIn(page, tenant.key);
    await page.getByRole('link', { name: 'acme-crawl' }).waitFor();
    expect(await page.locator('.list tbody tr').count()).toBe(1);
    await tab.goTo('#/new');
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('acme-');
    await page.getByText('begin with “acme-”').waitFor();
    await tab.close();
  });

  it('reports a revoked key, leaves nothing half done, and continues where it was', async () => {
    const revoked = await makeKey(app, 'admin');
    const tab = await visit(browser, app.url, '#/new');
    const { page } = tab;
    await signIn(page, revoked.key);
    await page.getByLabel('Name', { exact: true }).fill('never-made');
    // Planning is also a call.
    await page.getByText('11.7 MB').first().waitFor();
    await client.revokeKey(revoked.id);
    await page.getByRole('button', { name: 'Create the visited set' }).click();
    await page.getByText('Your key is no longer valid').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    await page.locator('input:focus').waitFor();
    await signIn(page, admin.key);
    await page.getByRole('heading', { name: 'New', exact: true }).waitFor();
    const names: string[] = [];
    for await (const { name } of client.visitedSets()) names.push(name);
    expect(names).toEqual(['acme-crawl', 'crawl']);
    await tab.leave(401, 403);
  });
});

describeInBrowser(`a service that becomes unavailable${why}`, () => {
  it('is reported in a banner, which disappears by itself when the service is back', async () => {
    const DATA_DIR = await mkdtemp(join(tmpdir(), 'unseen-away-'));
    const env = { DATA_DIR, PORT: String(await freePort()) };
    let service = await startProcess(env);
    const url = await service.url();
    const tab = await visit(browser, url);
    try {
      await new UnseenClient({ url })
        .filter('names')
        .create({ type: 'standard', capacity: 10, errorRate: 0.1 });
      await tab.page.getByRole('link', { name: 'names' }).waitFor();
      service.child.kill('SIGKILL');
      await service.exit();
      await tab.page.getByText('The service does not answer.').waitFor();
      // The data that was loaded is still shown.
      expect(await tab.page.getByRole('link', { name: 'names' }).count()).toBe(1);
      expect(await tab.inaccessible()).toEqual([]);
      // Starts to wait first, because the banner disappears by itself.
      const back = tab.page.getByText('The service is back.').waitFor();
      service = await startProcess(env);
      await service.url();
      await back;
      await tab.page.getByText('The service is back.').waitFor({ state: 'detached' });
      await tab.leave('away');
    } finally {
      await tab.close();
      await service.clean();
      await rm(DATA_DIR, { recursive: true, force: true });
    }
  });
});
