import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UnseenClient, type VisitedSet } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { runCommand } from '../support/command-line.js';
import { PagesServer } from '../support/pages-server.js';
import type { Ended } from '../support/service-process.js';
import { index, urlset } from '../support/sitemaps.js';

const [A1, A2, B1, B2] = ['a1', 'a2', 'b1', 'b2'].map((name) => `https://example.org/${name}`) as [
  string,
  string,
  string,
  string,
];
const URLS = [A1, A2, B1, B2];
const HTML = '<!DOCTYPE html>\n<html><body>502 Bad Gateway</body></html>';
const WARNING = `<br />\n<b>Warning</b>:  Undefined variable $x in <b>map.php</b>\n${urlset(B1, B2)}`;

/** UTF-16 text with a byte order mark. */
function utf16(text: string, order: 'le' | 'be'): Buffer {
  const bytes = Buffer.from(`\uFEFF${text}`, 'utf16le');
  return order === 'le' ? bytes : bytes.swap16();
}

describe('a sync whose sources are incomplete', () => {
  let app: TestApp;
  let site: PagesServer;
  let folder: string;
  let a: string;
  beforeAll(async () => {
    app = await startApp();
    site = await PagesServer.start();
    folder = await mkdtemp(join(tmpdir(), 'unseen-incomplete-'));
    a = join(folder, 'a.xml');
    await writeFile(a, urlset(A1, A2));
  });
  afterAll(async () => {
    await site.stop();
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  const unseen = (...args: string[]): Promise<Ended> =>
    runCommand(args, { env: { UNSEEN_URL: app.url, HOME: folder } });
  const made = async (): Promise<VisitedSet> => {
    const set = new UnseenClient({ url: app.url }).visitedSet(freshName('set'));
    await set.create({ capacity: 10_000, errorRate: 1e-9 });
    await set.visit(URLS);
    return set;
  };
  const fileOf = async (name: string, content: string | Buffer): Promise<string> => {
    const path = join(await mkdtemp(join(folder, 'sources-')), name);
    await writeFile(path, content);
    return path;
  };
  const onSite = (path: string, page: Parameters<PagesServer['set']>[1]): string => {
    const own = `/${freshName('site')}${path}`;
    site.set(own, page);
    return `${site.url}${own}`;
  };
  const lines = (...urls: string[]): string => `${urls.join('\n')}\n`;

  it.each<[string, () => Promise<string> | string, RegExp]>([
    ['an empty file', () => fileOf('b.xml', ''), /b\.xml" is empty/],
    ['a sitemap without an entry', () => fileOf('b.xml', urlset()), /b\.xml" is empty/],
    ['a list of empty lines', () => fileOf('b.txt', '\n\r\n\n'), /b\.txt" is empty/],
    ['an empty gzip', () => fileOf('b.txt.gz', gzipSync('')), /b\.txt\.gz" is empty/],
    [
      'a page of HTML',
      () => fileOf('b.xml', HTML),
      /b\.xml": it is an HTML page: it begins with "<!DOCTYPE html/,
    ],
    ['a page of HTML whose name does not say XML', () => onSite('/list', HTML), /list": it is an HTML page/],
    [
      'a warning before the XML',
      () => fileOf('b.xml', WARNING),
      /its name says XML, but it begins with "<br \/>/,
    ],
    ['gzipped lines in place of XML', () => fileOf('b.xml.gz', gzipSync(lines(B1))), /its name says XML/],
    [
      'lines that are served as XML',
      () =>
        onSite('/map?page=2', { body: lines(B1), headers: { 'content-type': 'text/xml; charset=utf-8' } }),
      /the server calls it XML, but it begins with "https/,
    ],
    [
      'XML that is cut off',
      () => fileOf('b.xml', urlset(B1, B2).slice(0, -20)),
      /cannot read the sitemap ".*b\.xml", line 3/,
    ],
    [
      'UTF-16 that is cut off',
      () => fileOf('b.xml', utf16(urlset(B1), 'le').subarray(0, -1)),
      /not valid UTF-16LE/,
    ],
    [
      'a line that is not a URL',
      () => fileOf('b.txt', lines(B1, '', 'no URL', B2)),
      /1 entry was refused, ".*b\.txt" line 3: "no URL": /,
    ],
    [
      'an entry of XML that is not a URL',
      () => fileOf('b.xml', urlset(B1, 'mailto:me@example.org', 'b2')),
      /2 entries were refused, the first: ".*b\.xml" line 3: "mailto:/,
    ],
    [
      'an entry without a loc',
      () => fileOf('b.xml', urlset(B1, B2).replace(`<loc>${B2}</loc>`, '')),
      /1 entry was refused, ".*b\.xml" line 3: this url has no loc/,
    ],
    [
      'a child without an entry',
      () => onSite('/index.xml', index(onSite('/b.xml', urlset()))),
      /forgotten: ".*\/b\.xml" is empty\. Fix/,
    ],
    [
      'a child that is empty',
      () => onSite('/index.xml', index(onSite('/b.xml', ''))),
      /cannot read the sitemap ".*b\.xml"/,
    ],
    [
      'a child that is HTML',
      () => onSite('/index.xml', index(onSite('/b.xml', HTML))),
      /cannot read the sitemap ".*b\.xml"/,
    ],
    [
      'an index of itself',
      () => {
        const path = `/${freshName('index')}.xml`;
        site.set(path, index(`${site.url}${path}`));
        return `${site.url}${path}`;
      },
      /forgotten: ".*\/index.*\.xml" is empty\. Fix/,
    ],
    [
      'two indexes of each other',
      () => {
        const [one, two] = [freshName('one'), freshName('two')].map((name) => `${site.url}/${name}.xml`);
        if (one === undefined || two === undefined) throw new Error('there must be two');
        site.set(new URL(one).pathname, index(two));
        site.set(new URL(two).pathname, index(one));
        return one;
      },
      /forgotten: ".*\/one.*\.xml" is empty\. Fix/,
    ],
    ['an index without a loc', () => onSite('/index.xml', index('')), /line 1: this sitemap has no loc/],
  ])('forgets nothing: %s', async (_, source, says) => {
    const set = await made();
    const ended = await unseen('sync', set.name, a, await source(), '--force');
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(says) });
    expect(await set.check(URLS)).toEqual(URLS.map(() => 'seen'));
    expect(await set.describe()).not.toHaveProperty('sync');
  });

  it('is committed if two indexes name the same sitemap, because neither is empty', async () => {
    const set = await made();
    const child = onSite('/b.xml', urlset(B1));
    const indexes = [onSite('/index-a.xml', index(child)), onSite('/index-b.xml', index(child))];
    const synced = await unseen('sync', set.name, a, ...indexes, '--json');
    expect(synced).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(synced.stdout)).toMatchObject({ forgets: 1, counts: { kept: 3, new: 0 } });
  });

  it('is committed with --allow-incomplete, and names refused entries', async () => {
    const set = await made();
    const b = await fileOf('b.txt', lines(B1, 'no URL'));
    const empty = await fileOf('c.txt', '');
    const synced = await unseen('sync', set.name, a, b, empty, '--allow-incomplete', '--json');
    expect(synced).toMatchObject({ code: 1, stderr: expect.stringMatching(/b\.txt" line 2: "no URL": /) });
    expect(JSON.parse(synced.stdout)).toMatchObject({ forgets: 1, counts: { kept: 3, invalid: 1 } });
    expect(await set.check(URLS)).toEqual(['seen', 'seen', 'seen', 'unseen']);
    // The stopped syncs left nothing behind either.
    expect(await readdir(join(folder, '.local', 'state', 'unseen'))).toEqual([]);
  });

  it.each([
    ['XML', 'le', urlset(B1, B2)],
    ['XML', 'be', urlset(B1, B2).replace('UTF-8', 'UTF-16')],
    ['lines', 'le', lines(B1, B2)],
    ['lines', 'be', lines(B1, B2)],
  ] as const)('reads %s in UTF-16, %s, by its own declaration', async (_, order, text) => {
    const set = await made();
    for (const content of [utf16(text, order), gzipSync(utf16(text, order))]) {
      const synced = await unseen('sync', set.name, a, await fileOf('b', content), '--json');
      expect(synced).toMatchObject({ code: 0, stderr: '' });
      expect(JSON.parse(synced.stdout)).toMatchObject({ forgets: 0, counts: { kept: 4, new: 0 } });
    }
  });
});
