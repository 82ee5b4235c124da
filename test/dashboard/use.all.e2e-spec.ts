import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { UnseenClient } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { makeKey, type TestKey } from '../support/credentials.js';
import {
  describeInBrowser,
  holdAfter,
  resultOf,
  sharedBrowser,
  signIn,
  visit,
  why,
  type Visit,
} from './browser.js';

const browser = sharedBrowser();

/** The error rate is so low that no test meets a false positive. */
const SURE = { capacity: 100_000, errorRate: 1e-9 };

const pagesOf = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `https://example.org/page/${i}`);

/** A browser class that Node.js doesn't declare. */
type Transfer = new () => { readonly items: { add(file: File): void } };

/** Drops a file as a file manager would. */
async function drop(page: Page, name: string, bytes: Buffer): Promise<void> {
  const dataTransfer = await page.evaluateHandle(
    ([text, called]) => {
      const transfer = new (globalThis as unknown as { DataTransfer: Transfer }).DataTransfer();
      const data = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      transfer.items.add(new File([data], called));
      return transfer;
    },
    [bytes.toString('base64'), name] as const,
  );
  await page.dispatchEvent('.drop', 'drop', { dataTransfer });
}

describeInBrowser(`the lines of input lists${why}`, () => {
  let app: TestApp;
  let admin: TestKey;
  let client: UnseenClient;
  beforeAll(async () => {
    app = await startApp({ AUTH: 'keys' });
    admin = await makeKey(app, 'admin');
    client = new UnseenClient({ url: app.url, apiKey: admin.key });
  });
  afterAll(() => app.close());

  const setOf = async (): Promise<string> => {
    const name = freshName('s');
    await client.visitedSet(name).create(SURE);
    return name;
  };
  const itemsOf = async (name: string): Promise<unknown> => {
    const described = await client.visitedSet(name).describe();
    return 'items' in described ? described.items : described;
  };
  const open = async (hash: string, key = admin): Promise<Visit> => {
    const tab = await visit(browser, app.url, hash);
    await signIn(tab.page, key.key);
    return tab;
  };
  const quiet = (tab: Visit): Promise<void> => tab.leave(400, 401);

  it('are pasted, checked, visited, and forgotten', async () => {
    const name = await setOf();
    const tab = await open(`#/sets/${name}/use`);
    const { page } = tab;
    const text = page.getByLabel('URLs, one per line');
    await text.fill('https://example.org/a\nno url\n\nhttps://example.org/b\n');
    expect(await tab.inaccessible()).toEqual([]);
    await page.getByRole('button', { name: 'Check 3 URLs' }).click();
    await page.getByText('Done: 3 lines.').waitFor();
    await page.getByText('1 is not a valid URL').waitFor();
    await page.getByText('not absolute').waitFor();
    expect(await resultOf(page)).toEqual([
      'unseen\thttps://example.org/a',
      'invalid\tno url',
      'unseen\thttps://example.org/b',
    ]);
    expect(await tab.inaccessible()).toEqual([]);

    await page.getByRole('button', { name: 'Another list' }).click();
    await page.getByLabel('Visit', { exact: true }).check();
    await text.fill('https://example.org/a\nHTTPS://EXAMPLE.org/a\nhttps://example.org/b');
    await page.getByRole('button', { name: 'Visit 3 URLs' }).click();
    await page.getByText('Done: 3 lines.').waitFor();
    expect((await resultOf(page)).map((line) => line.split('\t')[0])).toEqual(['new', 'seen', 'new']);
    expect(await itemsOf(name)).toBe(2);

    await page.getByRole('button', { name: 'Another list' }).click();
    await page.getByLabel('Forget', { exact: true }).check();
    await text.fill('https://example.org/a\nhttps://example.org/b\nhttps://example.org/c');
    await page.getByRole('button', { name: 'Forget 3 URLs' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('only URLs that were added.').waitFor();
    expect(await tab.inaccessible()).toEqual([]);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await itemsOf(name)).toBe(2);
    await page.getByRole('button', { name: 'Forget 3 URLs' }).click();
    await dialog.getByRole('button', { name: 'Forget 3 URLs' }).click();
    await page.getByText('Done: 3 lines.').waitFor();
    expect((await resultOf(page)).map((line) => line.split('\t')[0])).toEqual([
      'forgotten',
      'forgotten',
      'absent',
    ]);
    expect(await itemsOf(name)).toBe(0);

    // A single line needs no confirmation.
    await page.getByRole('button', { name: 'Another list' }).click();
    await text.fill('https://example.org/a');
    await page.getByLabel('Forget', { exact: true }).check();
    await page.getByRole('button', { name: 'Forget 1 URL' }).click();
    await page.getByText('Done: 1 line.').waitFor();
    await quiet(tab);
  });

  it('come from a file, compressed or not, and each gets a result', async () => {
    const name = await setOf();
    const lines = [...pagesOf(19_900), ...pagesOf(99), 'mailto:a@example.org'];
    const tab = await open(`#/sets/${name}/use`);
    const { page } = tab;
    await drop(page, 'pages.txt.gz', gzipSync(lines.join('\n')));
    await page.getByLabel('Visit', { exact: true }).check();
    await page.getByRole('button', { name: 'Visit the list' }).click();
    await page.getByText('Done: 20,000 lines.').waitFor();
    const words = lines.map((_, i) => (i < 19_900 ? 'new' : i < 19_999 ? 'seen' : 'invalid'));
    expect(await resultOf(page)).toEqual(lines.map((line, i) => `${words[i]}\t${line}`));
    expect(await itemsOf(name)).toBe(19_900);
    for (const [word, count] of [
      ['new', '19,900'],
      ['seen', '99'],
      ['invalid', '1'],
    ] as const)
      await page.locator('.tally div', { hasText: word }).getByText(count, { exact: true }).waitFor();
    expect(await tab.overflow()).toBe(0);
    await quiet(tab);
  });

  it('that are invalid don’t hold up a filter’s others', async () => {
    const name = freshName();
    await client.filter(name).create({ type: 'counting', ...SURE });
    const tab = await open(`#/filters/${name}/use`);
    const { page } = tab;
    const long = 'x'.repeat(10_000);
    await page.getByLabel('Add', { exact: true }).check();
    await page.getByLabel('Items, one per line').fill(`"a\\nb"\n"${long}"\n"c"`);
    await page.getByRole('button', { name: 'Add 3 items' }).click();
    await page.getByText('1 is not a valid item').waitFor();
    // A browser takes seconds to draw a line of a million characters.
    expect(await page.locator('.item', { hasText: 'xxx' }).first().innerText()).toHaveLength(2_001);
    expect(await resultOf(page)).toEqual(['new\t"a\\nb"', `invalid\t${long}`, 'new\tc']);
    expect(await client.filter(name).has(['a\nb', 'c', long.slice(0, 10)])).toEqual([true, true, false]);
    await quiet(tab);
  });

  it('can be stopped, and those already sent stay done', async () => {
    const name = await setOf();
    const tab = await open(`#/sets/${name}/use`);
    const { page } = tab;
    const { held, letGo } = await holdAfter(page, '/urls/visit', 3);
    await drop(page, 'pages.txt', Buffer.from(pagesOf(9_000).join('\n')));
    await page.getByLabel('Visit', { exact: true }).check();
    await page.getByRole('button', { name: 'Visit the list' }).click();
    await held;
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopping.').waitFor();
    letGo();
    await page.getByText('Stopped after 4,000 lines. Changes made so far remain.').waitFor();
    expect(await itemsOf(name)).toBe(4_000);
    expect(await resultOf(page)).toHaveLength(4_000);
    expect(await tab.inaccessible()).toEqual([]);
    await quiet(tab);
  });

  it('can only be checked by a reader', async () => {
    const name = await setOf();
    await client.visitedSet(name).visit('https://example.org/a');
    const tab = await open(`#/sets/${name}/use`, await makeKey(app, 'read'));
    const { page } = tab;
    await page.getByLabel('URLs, one per line').fill('https://example.org/a');
    expect(await page.getByRole('group', { name: 'Action' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Check 1 URL' }).click();
    await page.getByText('Done: 1 line.').waitFor();
    expect(await resultOf(page)).toEqual(['seen\thttps://example.org/a']);
    expect(await page.getByRole('link', { name: 'Explain' }).count()).toBe(0);
    await quiet(tab);
  });

  it('wait while a user with an expired key signs in, and continue where they were', async () => {
    const name = await setOf();
    const revoked = await makeKey(app, 'write');
    const tab = await open(`#/sets/${name}/use`, revoked);
    const { page } = tab;
    const { held, letGo } = await holdAfter(page, '/urls/visit', 2);
    const pages = pagesOf(6_000);
    await drop(page, 'pages.txt', Buffer.from(pages.join('\n')));
    await page.getByLabel('Visit', { exact: true }).check();
    await page.getByRole('button', { name: 'Visit the list' }).click();
    await held;
    await client.revokeKey(revoked.id);
    letGo();
    await page.getByText('Your key is no longer valid').waitFor();
    expect(await itemsOf(name)).toBe(2_000);
    await signIn(page, admin.key);
    await page.getByText('Your key expired or was revoked after 2,000 lines.').waitFor();
    expect(await resultOf(page)).toHaveLength(2_000);
    expect(await tab.inaccessible()).toEqual([]);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Done: 6,000 lines.').waitFor();
    expect(await itemsOf(name)).toBe(6_000);
    expect(await resultOf(page)).toEqual(pages.map((line) => `new\t${line}`));
    await quiet(tab);
  });
});
