import { execFileSync } from 'node:child_process';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UnseenClient, type VisitedSet } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { runCommand, startCommand } from '../support/command-line.js';
import { PagesServer } from '../support/pages-server.js';
import { freePort } from '../support/redis-server.js';
import type { Ended } from '../support/service-process.js';
import { index, urlset } from '../support/sitemaps.js';
import { until } from '../support/until.js';

/** A gzip file with a valid end and a damaged middle. */
const damaged = gzipSync(Array.from({ length: 5_000 }, (_, i) => (i * 2_654_435_761) % 4_294_967_296).join());
damaged.fill(7, 2_000, 3_000);

describe('command-line sources', () => {
  let app: TestApp;
  let pages: PagesServer;
  let site: string;
  let folder: string;
  beforeAll(async () => {
    app = await startApp();
    folder = await mkdtemp(join(tmpdir(), 'unseen-sources-'));
    pages = await PagesServer.start();
    site = pages.url;
  });
  afterAll(async () => {
    await pages.stop();
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  const env = () => ({ UNSEEN_URL: app.url, HOME: folder });
  const made = async (): Promise<VisitedSet> => {
    const set = new UnseenClient({ url: app.url }).visitedSet(freshName('set'));
    await set.create({ capacity: 10_000 });
    return set;
  };
  /** Visits the sources' URLs, and returns the exit code, the counts, and stderr. */
  const visit = async (
    sources: readonly string[],
    input: string | Buffer = '',
  ): Promise<Ended & { fresh?: number }> => {
    const set = await made();
    const ended = await runCommand(['visit', set.name, '--json', ...sources], { env: env(), input });
    if (ended.stdout === '') return ended;
    return { ...ended, fresh: (JSON.parse(ended.stdout) as { counts: { new: number } }).counts.new };
  };
  const fileOf = async (content: string | Buffer): Promise<string> => {
    const path = join(folder, freshName('source'));
    await writeFile(path, content);
    return path;
  };

  it('are lines or sitemaps, compressed or not, detected by their bytes and not their names', async () => {
    const lines = 'https://example.org/1\r\n\n\uFEFFhttps://example.org/2\nhttps://example.org/3';
    const map = urlset(
      'https://example.org/a?x=1&amp;y=2',
      ' https://example.org/b ',
      '<![CDATA[https://example.org/c]]>',
    );
    for (const content of [lines, Buffer.from(`\uFEFF${map}`), gzipSync(lines), gzipSync(map)])
      expect(await visit([await fileOf(content)])).toMatchObject({
        code: content.includes('\uFEFFhttps') || content.length < 100 ? 1 : 0,
      });
    expect(await visit([await fileOf('https://example.org/1\nhttps://example.org/2\n')])).toMatchObject({
      code: 0,
      fresh: 2,
    });
    expect(await visit([await fileOf(map)])).toMatchObject({ code: 0, fresh: 3 });
    expect(await visit(['-'], gzipSync(map))).toMatchObject({ code: 0, fresh: 3 });
    expect(await visit([await fileOf(map), '-'], 'https://example.org/d\n')).toMatchObject({
      code: 0,
      fresh: 4,
    });
  });

  it('may be an index of sitemaps, each of which is read once', async () => {
    pages.set('/index.xml', index(`${site}/one.xml`, `${site}/two.xml.gz`, `${site}/nested.xml`));
    pages.set('/nested.xml', index(`${site}/one.xml`, `${site}/index.xml`, `${site}/three.xml`));
    pages.set('/one.xml', urlset('https://example.org/1', 'https://example.org/2'));
    pages.set('/two.xml.gz', gzipSync(urlset('https://example.org/3')));
    pages.set('/three.xml', urlset('https://example.org/4'));
    expect(await visit([`${site}/index.xml`])).toMatchObject({ code: 0, fresh: 4, stderr: '' });
  });

  it.each<[string, () => Promise<string> | string, number, RegExp]>([
    [
      'a server that does not exist',
      async () => `http://127.0.0.1:${await freePort()}/`,
      3,
      /cannot fetch "http.*ECONNREFUSED/,
    ],
    ['a page that does not exist', () => `${site}/none`, 3, /cannot fetch ".*none": HTTP 404/],
    ['a folder', () => folder, 2, /cannot read ".*": it is a directory/],
    [
      'a broken sitemap',
      () => fileOf('<urlset><url><loc>a</url></urlset>'),
      2,
      /cannot read the sitemap ".*", line 1: Unexpected close tag\n$/,
    ],
    [
      'another kind of XML',
      () => fileOf('<?xml version="1.0"?><rss/>'),
      2,
      /its root element is "rss", not urlset/,
    ],
    [
      'a document with entities',
      () =>
        fileOf(
          '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x "y">]><urlset><url><loc>&x;</loc></url></urlset>',
        ),
      ...([2, /it contains a DOCTYPE/] as const),
    ],
    [
      'elements that are not closed',
      () => fileOf(`<urlset>${'<a>'.repeat(1_000)}`),
      2,
      /more than 32 levels deep/,
    ],
    [
      'a gzip that is cut off',
      () => fileOf(gzipSync('x'.repeat(100_000)).subarray(0, 60)),
      2,
      /cannot unpack .*end of file/,
    ],
    ['a damaged gzip', () => fileOf(damaged), 2, /cannot unpack .*: the gzip data is corrupt: /],
    [
      'a page with corrupt compression',
      () => {
        pages.set('/packed', { body: damaged, headers: { 'content-encoding': 'gzip' } });
        return `${site}/packed`;
      },
      ...([3, /cannot fetch .*: the gzip data is corrupt: /] as const),
    ],
    [
      'an index with a URL that is not http',
      () => fileOf(index('file:///etc/passwd')),
      2,
      /which is not http or https/,
    ],
  ])('may not be %s, and one line says so', async (_, source, code, says) => {
    const ended = await visit([await source()]);
    expect([ended.code, ended.stdout]).toEqual([code, '']);
    expect(ended.stderr).toMatch(says);
    expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  it('may have invalid lines, which are named, and the others are processed', async () => {
    const content = Buffer.concat([
      Buffer.from('https://example.org/1\n'),
      Buffer.from([0xc3, 0x28, 0x0a]),
      Buffer.from(`${'x'.repeat(2_000_000)}\nhttps://example.org/2\n`),
    ]);
    const ended = await visit([await fileOf(content)]);
    expect(ended).toMatchObject({ code: 1, fresh: 2 });
    expect(ended.stderr).toMatch(
      /line 2: the line is not valid UTF-8\n.*line 3: the line has more than 1048576 bytes\n$/s,
    );
  });

  it('may have lines that the service refuses, which are named by number', async () => {
    const list = await fileOf('https://example.org/1\n\nno URL\r\n');
    const map = await fileOf(
      urlset('https://example.org/2', 'ftp://example.org/').replace('<url>', '<url/>\n<url>'),
    );
    const ended = await visit([list, map]);
    expect(ended).toMatchObject({ code: 1, fresh: 2 });
    expect(ended.stdout).toContain('"invalid":2,"refused":1');
    expect(ended.stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^".*" line 2: this url has no loc$/),
      expect.stringMatching(/^".*" line 3: "no URL": /),
      expect.stringMatching(/^".*" line 4: "ftp:\/\/example.org\/": /),
    ]);
  });

  it('get results while a pipe stays open, and end with its writer', async () => {
    const set = await made();
    const running = await startCommand(['check', set.name], { env: env(), stdin: 'pipe' });
    running.child.stdin?.write('https://example.org/1\n');
    await until('the first URL is answered', async () => running.stdout() === 'https://example.org/1\n');
    running.child.stdin?.end();
    expect(await running.ended).toMatchObject({ code: 0, stdout: 'https://example.org/1\n' });
  });

  it('may be a named pipe without a writer, and an interruption ends it', async () => {
    const set = await made();
    const pipe = join(folder, 'a-pipe');
    execFileSync('mkfifo', [pipe]);
    const waiting = await startCommand(['visit', set.name, pipe], { env: env() });
    const writer = await open(pipe, 'w');
    await writer.write('https://example.org/1\n');
    waiting.child.kill('SIGINT');
    expect(await waiting.ended).toMatchObject({
      code: 130,
      stderr: expect.stringMatching(/^unseen: interrupted/),
    });
    await writer.close();
  });

  it('are read no further than the reader of the results', async () => {
    const set = await made();
    const running = await startCommand(['check', set.name, '-'], { env: env(), stdin: 'pipe' });
    running.child.stdout?.once('data', () => running.child.stdout?.destroy());
    const lines = Array.from({ length: 1_000 }, (_, i) => `https://example.org/${i}\n`).join('');
    let over = false;
    void running.ended.then(() => (over = true));
    await until('the command has ended', async () => {
      if (!over) running.child.stdin?.write(lines);
      return over;
    });
    expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
  });
});
