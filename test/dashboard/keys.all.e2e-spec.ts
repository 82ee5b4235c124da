import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { AccessError, UnseenClient } from '#client';
import { startApp, type TestApp } from '../support/app.js';
import { makeKey } from '../support/credentials.js';
import { describeInBrowser, sharedBrowser, signIn, visit, why } from './browser.js';

const browser = sharedBrowser();

const DAY_MS = 86_400_000;

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

/** Returns the displayed secret, then clicks "I saved it". */
async function taken(page: Page, name: string): Promise<string> {
  const key = await page.getByLabel(`Key ${name}`, { exact: true }).inputValue();
  await button(page, 'I saved it').click();
  return key;
}

describeInBrowser(`keys${why}`, () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ AUTH: 'keys' });
  });
  afterAll(() => app.close());

  const clientOf = (apiKey?: string): UnseenClient => new UnseenClient({ url: app.url, apiKey });

  it('are created, shown once, and have their permissions', async () => {
    const admin = await makeKey(app, 'admin');
    await clientOf(admin.key).visitedSet('acme-crawl').create({ capacity: 1_000 });
    const tab = await visit(browser, app.url, '#/keys', {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const { page } = tab;
    await signIn(page, admin.key);
    const own = page.getByRole('row', { name: admin.id });
    await own.getByText('yours').waitFor();
    expect(await tab.inaccessible()).toEqual([]);

    await button(page, 'New key …').click();
    const dialog = page.getByRole('dialog', { name: 'A new key' });
    await button(page, 'Create key').click();
    await dialog.getByText('Enter 1 to 64 printable').waitFor();
    await dialog.getByLabel('Name').fill('acme');
    await dialog.getByLabel('Write', { exact: true }).check();
    await dialog.getByLabel('Prefix').fill('acme-');
    await dialog.getByLabel('Maximum sets').fill('3');
    await dialog.getByLabel('Maximum memory').fill('500 MB');
    await dialog.getByLabel('Expires').selectOption('30');
    expect(await tab.inaccessible()).toEqual([]);
    await button(page, 'Create key').click();
    await page.getByRole('heading', { name: 'Key acme created: save it now' }).waitFor();
    expect(await tab.inaccessible()).toEqual([]);

    await button(page, 'Copy').click();
    await page.getByText('Copied.').waitFor();
    const copied = String(await page.evaluate('navigator.clipboard.readText()'));
    // The secret stays on other screens, and the browser asks before it closes the page.
    await tab.goTo('#/');
    await page.getByRole('link', { name: 'acme-crawl' }).waitFor();
    const asked = page.waitForEvent('dialog');
    await page.evaluate('void setTimeout(() => location.reload())');
    const question = await asked;
    expect(question.type()).toBe('beforeunload');
    await question.dismiss();
    await tab.goTo('#/keys');
    expect(await taken(page, 'acme')).toBe(copied);

    const me = await clientOf(copied).me();
    expect(me).toMatchObject({ name: 'acme', scopes: ['write'], prefix: 'acme-' });
    const now = Date.now();
    expect(Date.parse(me.expiresAt ?? '')).toBeGreaterThan(now + 29 * DAY_MS);
    const row = page.getByRole('row', { name: 'acme' });
    await row.getByText('1 of 3 sets').waitFor();
    await row.getByText(/of 500 MB/).waitFor();
    expect(await page.getByText(copied).count()).toBe(0);
    await tab.leave(401);
  });

  it('are rotated: the old one stays valid for a while, or ends immediately', async () => {
    const admin = await makeKey(app, 'admin');
    const old = await makeKey(app, 'read');
    const tab = await visit(browser, app.url, '#/keys');
    const { page } = tab;
    await signIn(page, admin.key);
    await button(page, `Rotate test read ${old.id}`).click();
    expect(await tab.inaccessible()).toEqual([]);
    const before = Date.now();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    await page.getByText(`The old key ${old.id} is valid until`).waitFor();
    const after = Date.now();
    const fresh = await taken(page, 'test read');
    expect(await clientOf(fresh).me()).toMatchObject({ name: 'test read', scopes: ['read'] });
    const { expiresAt } = await clientOf(old.key).me();
    const end = Date.parse(expiresAt ?? '');
    expect([end >= before + DAY_MS - 60_000, end <= after + DAY_MS]).toEqual([true, true]);

    // This is the user's own key, without an overlap. The page continues with the new one.
    await button(page, `Rotate test admin ${admin.id}`).click();
    await page.getByLabel('The old key stays valid for').selectOption('0');
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    await page.getByText('You are signed in with it.').waitFor();
    const next = await taken(page, 'test admin');
    await page.getByRole('row', { name: admin.id }).getByText('expired').waitFor();
    await expect(clientOf(admin.key).me()).rejects.toThrow(AccessError);
    expect(await clientOf(next).me()).toMatchObject({ scopes: ['admin'] });
    expect(await page.evaluate('sessionStorage.getItem("unseen-key")')).toBe(next);
    await tab.leave(401);
  });

  it('are revoked, and revoking the user’s own key leads to the sign-in', async () => {
    const admin = await makeKey(app, 'admin');
    const other = await makeKey(app, 'read');
    const tab = await visit(browser, app.url, '#/keys');
    const { page } = tab;
    await signIn(page, admin.key);
    await button(page, `Revoke test read ${other.id}`).click();
    expect(await tab.inaccessible()).toEqual([]);
    await button(page, 'Keep it').click();
    expect(await clientOf(other.key).me()).toMatchObject({ scopes: ['read'] });
    await button(page, `Revoke test read ${other.id}`).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('row', { name: other.id }).waitFor({ state: 'detached' });
    await expect(clientOf(other.key).me()).rejects.toThrow(AccessError);
    await button(page, `Revoke test admin ${admin.id}`).click();
    await page.getByText('You are signed in with this key').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Your key is no longer valid').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    await expect(clientOf(admin.key).me()).rejects.toThrow(AccessError);
    // Users who may not manage keys see no link to them.
    await signIn(page, (await makeKey(app, 'write')).key);
    await page.getByText('Your key can’t manage keys').waitFor();
    expect(await page.getByRole('link', { name: 'Keys' }).count()).toBe(0);
    expect(await tab.inaccessible()).toEqual([]);
    await tab.leave(401);
  });

  it('are created once, whether or not the sign-in with them succeeds', async () => {
    const admin = await makeKey(app, 'admin');
    const tab = await visit(browser, app.url, '#/keys');
    const { page } = tab;
    await signIn(page, admin.key);
    await button(page, 'New key …').click();
    await page.getByRole('dialog').getByLabel('Name').fill('brief');
    await button(page, 'Create key').click();
    await page.getByRole('heading', { name: 'Key brief created' }).waitFor();
    const [brief] = (await clientOf(admin.key).keys()).filter(({ name: called }) => called === 'brief');
    await clientOf(admin.key).revokeKey(brief!.id);
    // A user who is signed in stays signed in.
    await button(page, 'Switch to it here').click();
    await page.getByText('Sign-in with key brief failed:').waitFor();
    expect(await page.evaluate('sessionStorage.getItem("unseen-key")')).toBe(admin.key);
    await button(page, 'I saved it').click();

    await button(page, `Rotate test admin ${admin.id}`).click();
    await page.route('**/v1/me', (route) => route.fulfill({ status: 404, body: 'not here' }));
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    await button(page, 'Switch to it here').waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.unroute('**/v1/me');
    await button(page, 'Switch to it here').click();
    await page.getByText('You are signed in with it.').waitFor();
    await taken(page, 'test admin');
    await tab.leave(401, 404);
  });

  it('start with one that closes the service, and signs in with it', async () => {
    const open = await startApp();
    const tab = await visit(browser, open.url, '#/keys');
    const { page } = tab;
    await page.getByText('No keys yet').waitFor();
    expect(await tab.inaccessible()).toEqual([]);
    await button(page, 'New key …').click();
    await page.getByRole('dialog', { name: 'The first key' }).getByLabel('Name').fill('operator');
    expect(await tab.inaccessible()).toEqual([]);
    await button(page, 'Create key').click();
    await page.getByText('You are signed in with it.').waitFor();
    const key = await taken(page, 'operator');
    await expect(new UnseenClient({ url: open.url }).me()).rejects.toThrow(AccessError);
    expect(await new UnseenClient({ url: open.url, apiKey: key }).me()).toMatchObject({ scopes: ['admin'] });
    await page.getByRole('row', { name: 'operator' }).getByText('yours').waitFor();
    await tab.leave(401);
    await open.close();
  });

  it('aren’t lost if the user doesn’t sign in with them immediately', async () => {
    const open = await startApp();
    const tab = await visit(browser, open.url, '#/keys');
    const { page } = tab;
    await button(page, 'New key …').click();
    await page.getByLabel('Name').fill('operator');
    await page.getByLabel('Sign in here with the new key').uncheck();
    await button(page, 'Create key').click();
    await page.getByText('The service now requires an API key.').waitFor();
    await page.getByRole('heading', { name: 'Key operator created: save it now' }).waitFor();
    expect(await tab.inaccessible()).toEqual([]);
    await button(page, 'Sign in with it').click();
    await page.getByText('You are signed in with it.').waitFor();
    await button(page, 'Sign out').click();
    await page.getByText('You have signed out.').waitFor();
    expect(await page.getByText('save it now').count()).toBe(0);
    await tab.leave(401);
    await open.close();
  });
});
