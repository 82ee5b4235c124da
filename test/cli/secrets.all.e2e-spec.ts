import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UnseenClient } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { runCommand } from '../support/command-line.js';
import { PagesServer } from '../support/pages-server.js';
import { freePort } from '../support/redis-server.js';
import type { Ended } from '../support/service-process.js';
import { index, urlset } from '../support/sitemaps.js';

const [USER, PASSWORD, TOKEN, KEY] = ['us3rname', 'pa55w0rd', 't0k3n-value', 'unseen_k3y'];
const SECRETS = [USER, PASSWORD, TOKEN, KEY, Buffer.from(`${USER}:${PASSWORD}`).toString('base64')];
const urlAt = (i: number): string => `https://example.org/${i}`;

describe('the command line shows no secret', () => {
  let app: TestApp;
  let site: PagesServer;
  let folder: string;
  let set: string;
  beforeAll(async () => {
    app = await startApp();
    site = await PagesServer.start();
    folder = await mkdtemp(join(tmpdir(), 'unseen-secrets-'));
    set = freshName('set');
    await new UnseenClient({ url: app.url }).visitedSet(set).create({ capacity: 10_000 });
  });
  afterAll(async () => {
    await site.stop();
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** A URL on the site with every kind of secret that a URL can contain. */
  const secret = (path: string): string =>
    `${site.url.replace('//', `//${USER}:${PASSWORD}@`)}${path}?page=2&access_token=${TOKEN}`;
  const onSite = (path: string, page: Parameters<PagesServer['set']>[1]): string => {
    site.set(`${path}?page=2&access_token=${TOKEN}`, page);
    return secret(path);
  };
  const checkpoints = async (): Promise<string> => {
    const state = join(folder, '.local', 'state', 'unseen');
    const files = await readdir(state).catch(() => []);
    return (await Promise.all(files.map((file) => readFile(join(state, file), 'utf8')))).join('\n');
  };
  /** Runs a command, and expects no secret in its output and files. */
  const silent = async (
    args: readonly string[],
    more: Readonly<Record<string, string>> = {},
  ): Promise<Ended> => {
    const ended = await runCommand(args, { env: { UNSEEN_URL: app.url, HOME: folder, ...more } });
    const left = [ended.stdout, ended.stderr, await checkpoints()].join('\n');
    for (const one of SECRETS) expect(left).not.toContain(one);
    expect(ended.code).not.toBe(70);
    return ended;
  };

  it('of the URL of a source: in results, errors, refusals, and checkpoints', async () => {
    const many = Array.from({ length: 1_500 }, (_, i) => urlAt(i));
    const good = onSite('/good', urlset(...many));
    expect(await silent(['visit', set, good, '--json'])).toMatchObject({ code: 0 });
    expect(site.authorizations.get(`/good?page=2&access_token=${TOKEN}`)).toBe(
      `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`,
    );
    const bad: [source: string, says: RegExp][] = [
      [secret('/none'), /cannot fetch "http:\/\/\*\*\*@.*\/none\?page=2&access_token=\*\*\*": HTTP 404/],
      [
        `${site.url}/none?code=${TOKEN}&hash=${TOKEN}&hmac=${TOKEN}&sig=${TOKEN}`,
        /\/none\?code=\*\*\*&hash=\*\*\*&hmac=\*\*\*&sig=\*\*\*": HTTP 404/,
      ],
      [secret('/none').replace(/:\d+\//, `:${await freePort()}/`), /cannot fetch ".*ECONNREFUSED/],
      [`http://${USER}:${PASSWORD}@[/`, /cannot fetch .*: it is not a valid URL/],
      [onSite('/html', '<html>'), /\/html.*it is an HTML page/],
      [onSite('/broken', '<urlset><url>'), /cannot read the sitemap .*\/broken/],
      [onSite('/packed', Buffer.from([0x1f, 0x8b, 1, 2, 3])), /cannot unpack .*\/packed/],
      [onSite('/lines', 'no URL\n'), /\/lines\?page=2&access_token=\*\*\*" line 1: "no URL"/],
      [
        onSite('/index', index(secret('/child').replaceAll('&', '&amp;'))),
        /cannot fetch .*\/child.*HTTP 404/,
      ],
      [
        onSite('/outside', index(`ftp://${USER}:${PASSWORD}@example.org/`)),
        /\/outside.*it lists "ftp:\/\/\*\*\*@/,
      ],
      [onSite('/empty', urlset()), /\/empty.* is empty/],
    ];
    for (const [source, says] of bad)
      expect((await silent(['sync', set, good, source, '--no-checkpoint', '--force'])).stderr).toMatch(says);
    // A source that leaves a checkpoint.
    const two = onSite(
      '/two',
      index(good.replaceAll('&', '&amp;'), secret('/away').replaceAll('&', '&amp;')),
    );
    const { stderr } = await silent(['visit', set, two]);
    expect(stderr).toMatch(/cannot fetch .*away/);
    expect(await checkpoints()).toContain(`visit \\"${set}\\"`);
    expect((await silent(['visit', set, two])).stderr).toContain('continuing after');
  });

  it('of the URL of an index, and sends its credentials only for sitemaps of the same origin', async () => {
    const other = await PagesServer.start();
    try {
      const basic = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`;
      const own = `Basic ${Buffer.from('child:own').toString('base64')}`;
      const withOwn = site.url.replace('//', '//child:own@');
      site.set('/tree', index(`${site.url}/a`, `${withOwn}/b`, `${site.url}/branch`, `${other.url}/c`));
      site.set('/a', urlset(urlAt(1)));
      site.set('/b', urlset(urlAt(2)));
      site.set('/branch', index(`${site.url}/leaf`, `${site.url}/moved`));
      site.set('/leaf', urlset(urlAt(3)));
      site.set('/moved', { status: 302, headers: { location: `${other.url}/target` } });
      other.set('/target', urlset(urlAt(4)));
      other.set('/c', index(`${other.url}/d`, `${site.url}/back`));
      other.set('/d', urlset(urlAt(5)));
      site.set('/back', urlset(urlAt(6)));
      const tree = `${site.url.replace('//', `//${USER}:${PASSWORD}@`)}/tree`;
      expect(await silent(['visit', set, tree])).toMatchObject({ code: 0 });
      const sent = ['/tree', '/a', '/b', '/branch', '/leaf', '/moved', '/back'].map((path) =>
        site.authorizations.get(path),
      );
      expect(sent).toEqual([basic, basic, own, basic, basic, basic, undefined]);
      expect([...other.authorizations]).toEqual([
        ['/target', undefined],
        ['/c', undefined],
        ['/d', undefined],
      ]);
      site.set('/lost', index(`${site.url}/none`));
      const lost = await silent(['visit', set, tree.replace('/tree', '/lost')]);
      expect(lost.stderr).toMatch(/cannot fetch "http:\/\/\*\*\*@.*\/none": HTTP 404/);
      expect(site.authorizations.get('/none')).toBe(basic);
      site.set('/odd', index('http://[/'));
      const odd = await silent(['visit', set, tree.replace('/tree', '/odd')]);
      expect(odd.stderr).toMatch(/cannot fetch "http:\/\/\[\/": it is not a valid URL/);
    } finally {
      await other.stop();
    }
  });

  it('of the URL of the service or of Redis', async () => {
    for (const url of [
      app.url.replace('//', `//${USER}:${PASSWORD}@`),
      `ftp:\\\\${USER}:${PASSWORD}@example.org`,
      `${USER}:${PASSWORD}@example.org`,
      `${app.url}/?token=${TOKEN}`,
      `${app.url}/#${TOKEN}`,
    ])
      expect(await silent(['list', '--url', url])).toMatchObject({ code: 2 });
    const redis = `redis://${USER}:${PASSWORD}@127.0.0.1:${await freePort()}`;
    expect((await silent(['import-set', set, '--redis', redis, '--key', 'seen'])).code).toBe(3);
    const other = redis.replace('redis:', 'rediz:');
    expect((await silent(['import-set', set, '--redis', other, '--key', 'seen'])).code).toBe(2);
  });

  it('of the environment: an API key, valid, or with a line break or another character', async () => {
    await new UnseenClient({ url: app.url }).visitedSet(set).visit(urlAt(0));
    const list = join(folder, 'list');
    await writeFile(list, `${urlAt(0)}\n`);
    const away = `http://127.0.0.1:${await freePort()}`;
    for (const [key, says] of [
      [KEY, / 1 seen/],
      [`${KEY}\n`, / 1 seen/],
      [`${KEY}\nmore`, /^unseen: UNSEEN_API_KEY: apiKey must contain only visible ASCII characters/],
      [`${KEY}é`, /^unseen: UNSEEN_API_KEY: apiKey must contain only/],
      [`${KEY} ${KEY}`, /^unseen: UNSEEN_API_KEY: apiKey must contain only/],
    ] as const) {
      const { stdout, stderr } = await silent(['visit', set, list], { UNSEEN_API_KEY: key });
      expect(stdout + stderr).toMatch(says);
    }
    expect((await silent(['list', '--url', away], { UNSEEN_API_KEY: KEY })).stderr).toMatch(
      /could not be reached/,
    );
  });

  it('nor does the client', async () => {
    for (const apiKey of [`${KEY}\nmore`, `${KEY}é`])
      expect(() => new UnseenClient({ url: app.url, apiKey })).toThrow(
        /^apiKey must contain only visible ASCII/,
      );
    const client = new UnseenClient({
      url: `http://127.0.0.1:${await freePort()}`,
      apiKey: KEY,
      timeoutMs: 1,
    });
    const error: unknown = await client.me().catch((thrown: unknown) => thrown);
    for (let one = error; one instanceof Error; one = one.cause) expect(String(one.stack)).not.toContain(KEY);
    expect(error).toBeInstanceOf(Error);
  });
});
