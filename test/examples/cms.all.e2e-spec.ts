import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { documentedCalls, promised } from '../support/documented-calls.js';
import { buildExample, whySkipped, type Example } from '../support/example.js';
import { freePort } from '../support/redis-server.js';
import { startProcess, type ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';
import { AnswerKeeper, article, Cms, type Article } from './cms-stage.js';
import type { Running } from './worker-programs.js';
import { Gate, page, Site, type Reply } from './worker-site.js';
import { freshSet } from './worker-stage.js';

const run = promisify(execFile);
const why = whySkipped('cms');
const describeExample = why === '' ? describe : describe.skip;
/** Sources are collected only when a test asks for it. */
const QUIET = ['--every', '86400', '--patience', '50'];
const PAST = '2020-01-01T00:00:00Z';

describeExample(`examples/cms${why}`, () => {
  let example: Example;
  const open: { clean(): Promise<unknown> }[] = [];
  beforeAll(async () => {
    example = await buildExample('cms');
  });
  afterAll(() => example.remove());
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.clean();
  });

  /** A site whose first page links to the articles, unless `articles` replaces that page. */
  async function siteOf(articles: Map<string, Reply | (() => Promise<Reply>)>): Promise<Site> {
    const site = await Site.start(async ({ path }) => {
      const reply = articles.get(path) ?? (path === '/' ? page([...articles.keys()]) : { status: 404 });
      return typeof reply === 'function' ? reply() : reply;
    }, '127.0.0.1');
    open.push({ clean: () => site.stop() });
    return site;
  }

  async function startCms(unseen: string, set: string, ...args: readonly string[]): Promise<Cms> {
    const cms = await Cms.start(example.folder, [...QUIET, '--unseen', unseen, '--set', set, ...args]);
    open.push(cms);
    return cms;
  }

  async function startKeeper(target: string): Promise<AnswerKeeper> {
    const keeper = await AnswerKeeper.start(target);
    open.push({ clean: () => keeper.stop() });
    return keeper;
  }

  async function startService(env: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
    const service = await startProcess(env);
    open.push(service);
    return service;
  }

  it('follows an article’s life, while Unseen and the CMS are killed', async () => {
    const PORT = String(await freePort());
    let service = await startService({ PORT });
    const unseen = await service.url();
    const pages = new Map<string, Reply>([
      ['/one', article('One', 'By the crawler.')],
      ['/gone', { status: 404 }],
    ]);
    const site = await siteOf(pages);
    const one = `${site.url}/one`;
    const cms = await startCms(unseen, freshName('cms'), '--patience', '0', '--source', `${site.url}/`);

    // Collected once, however often its source is read.
    await until('the article is collected', async () => (await cms.byUrl(one)) !== undefined);
    expect((await cms.call('POST', '/collect')).body).toEqual({ links: 2, new: 0, failed: {} });
    const { id, ...collected } = (await cms.byUrl(one))!;
    expect(collected).toMatchObject({ title: 'One', origin: 'crawl', version: 1 });
    expect((await cms.call('GET', `/articles/${id}`)).body['body']).toBe('One\nBy the crawler.');

    // Uploading the same URL in another spelling is "seen". The CMS accepts another URL.
    const upload = async (url: string): Promise<unknown> => {
      const { body } = await cms.call('POST', '/articles', { url, title: 'Mine', body: 'By hand.' });
      await cms.told();
      return (await cms.call('GET', `/uploads/${String(body['id'])}`)).body['state'];
    };
    expect(await upload(`${site.url}/on%65#top`)).toBe('seen');
    expect(await upload('https://example.org/by-hand')).toBe('taken');

    // Kill Unseen. Deleting the article still works, and another upload waits.
    service.child.kill('SIGKILL');
    await service.exit();
    expect((await cms.call('DELETE', `/articles/${id}`)).status).toBe(204);
    expect(await cms.byUrl(one)).toBeUndefined();
    const waiting = { url: 'https://example.org/late', title: 'Late', body: '' };
    const late = await cms.call('POST', '/articles', waiting);
    expect([late.status, late.body['state']]).toEqual([202, 'waiting']);
    // Also kill the CMS.
    await cms.kill();
    service = await startService({ PORT, DATA_DIR: service.dataDir });
    await service.url();
    await cms.start();
    await cms.told();
    expect((await cms.call('GET', `/uploads/${String(late.body['id'])}`)).body).toMatchObject({
      state: 'taken',
    });

    // The article is still on the site, so it is collected again.
    pages.set('/one', article('One', 'Second edition.'));
    await until('the article is collected again', async () => {
      await cms.call('POST', '/collect');
      return (await cms.byUrl(one)) !== undefined;
    });
    const again = (await cms.byUrl(one))!;
    expect(again.id).not.toBe(id);

    // The article becomes stale. The preview names it, counts the page that was not an article, and changes nothing.
    await cms.call('PATCH', `/articles/${again.id}`, { liveUntil: PAST });
    const preview = (await cms.call('POST', '/sync/preview')).body;
    expect(preview).toMatchObject({ done: false, refused: false, forgotten: 2, items: 4, staleArticles: 1 });
    expect(preview['articles']).toEqual([{ id: again.id, url: one, title: 'One' }]);
    expect((await cms.call('POST', '/collect')).body).toMatchObject({ new: 0 });
    const synced = await cms.call('POST', '/sync');
    expect([synced.status, synced.body['done'], synced.body['forgotten']]).toEqual([200, true, 2]);
    const revived = await cms.call('PATCH', `/articles/${again.id}`, { liveUntil: '2100-01-01T00:00:00Z' });
    expect(revived.status).toBe(409);

    // So the article is collected once more, under the same id. The page that was gone is fetched again.
    pages.set('/gone', article('Found', 'It is back.'));
    expect((await cms.call('POST', '/collect')).body).toMatchObject({ new: 2 });
    await until('the article is renewed', async () => (await cms.byUrl(one))?.version === 2);
    await until(
      'the other article is collected',
      async () => (await cms.byUrl(`${site.url}/gone`)) !== undefined,
    );
    expect((await cms.byUrl(one))?.id).toBe(again.id);
    expect(site.asked().filter((path) => path === '/one')).toHaveLength(3);
    expect(await cms.stop()).toBe(0);
  });

  describe('on one service', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await startApp();
    });
    afterAll(() => app.close());

    it('takes in a URL once if people and the crawler bring it at the same time', async () => {
      const COUNT = 20;
      const paths = Array.from({ length: COUNT }, (_, i) => `/${i}`);
      const site = await siteOf(new Map(paths.map((path) => [path, article(`Page ${path}`, 'x')])));
      const cms = await startCms(app.url, freshName('cms'), '--source', `${site.url}/`);
      const uploads = [...paths, ...paths].map(async (path) => {
        const { status } = await cms.call('POST', '/articles', {
          url: `${site.url}${path}`,
          title: 'Mine',
          body: '',
        });
        return status;
      });
      const statuses = await Promise.all(uploads);
      const taken = statuses.filter((status) => status === 201).length;
      expect(new Set(statuses)).toEqual(new Set(taken === 0 ? [409] : [201, 409]));
      await until('all articles are collected', async () => (await cms.articles()).length === COUNT);
      const articles = await cms.articles();
      expect(articles.filter(({ version }) => version !== 1)).toEqual([]);
      expect(articles.filter(({ origin }) => origin === 'upload')).toHaveLength(taken);
      expect(site.asked().filter((path) => path !== '/')).toHaveLength(COUNT - taken);
    });

    it('executes each message once, even if it is killed before the answer', async () => {
      const keeper = await startKeeper(app.url);
      const set = freshSet(app.url);
      const cms = await startCms(keeper.url, set.name);
      const url = 'https://example.org/a';
      await until('the set is made', async () => (await set.describe().catch(() => undefined)) !== undefined);

      keeper.keeps = '/urls/visit';
      const answer = cms.call('POST', '/articles', { url, title: 'A', body: 'a' }).catch(() => 'killed');
      await until('the visit is done and not answered', async () => keeper.gate.waiting === 1);
      expect(await set.check(url)).toBe('seen');
      await cms.kill();
      expect(await answer).toBe('killed');
      keeper.keeps = undefined;
      await cms.start();
      await until('the article is stored', async () => (await cms.byUrl(url)) !== undefined);
      const [first] = await cms.articles();
      expect(first).toMatchObject({ title: 'A', version: 1 });

      // The deletion is done, but its answer is withheld. In the meantime, another caller visits the URL.
      keeper.keeps = '/urls/forget';
      await cms.call('DELETE', `/articles/${first!.id}`);
      await until('the URL is forgotten', async () => (await set.check(url)) === 'unseen');
      await until('the answer is kept', async () => keeper.gate.waiting >= 1);
      await cms.kill();
      expect(await set.visit(url)).toBe('new');
      keeper.keeps = undefined;
      await cms.start();
      await cms.told();
      expect(await set.check(url)).toBe('seen');
    });

    it('abandons a sync during which it was killed', async () => {
      const keeper = await startKeeper(app.url);
      const set = freshSet(app.url);
      const cms = await startCms(keeper.url, set.name);
      for (const name of ['a', 'b', 'c'])
        await cms.call('POST', '/articles', { url: `https://example.org/${name}`, title: name, body: '' });
      await cms.call('PATCH', '/articles/1', { liveUntil: PAST });
      keeper.keeps = '/syncs';
      const answer = cms.call('POST', '/sync').catch(() => 'killed');
      await until('a sync is open', async () => keeper.gate.waiting === 1);
      await cms.kill();
      expect(await answer).toBe('killed');
      const left = await set.describe();
      if (!('items' in left)) throw new Error('the set has lost data');
      expect(left.sync?.state).toBe('open');
      keeper.keeps = undefined;
      await cms.start();
      // At first, even the call that abandons the sync fails.
      keeper.refuses = /^DELETE .*\/syncs\//;
      expect((await cms.call('POST', '/sync')).status).toBe(503);
      keeper.refuses = undefined;
      expect((await cms.call('POST', '/sync')).body).toMatchObject({ done: true, forgotten: 1 });
      expect(await set.check(['https://example.org/a', 'https://example.org/b'])).toEqual(['unseen', 'seen']);
    });

    /** A CMS with an article whose page is being fetched again. The gate holds the answer. */
    async function fetchedAgain(unseen: string) {
      const gate = new Gate();
      const pages = new Map<string, Reply | (() => Promise<Reply>)>([['/a', article('A', '1')]]);
      const site = await siteOf(pages);
      const set = freshSet(app.url);
      const cms = await startCms(unseen, set.name, '--source', `${site.url}/`);
      const url = `${site.url}/a`;
      await until('the article is collected', async () => (await cms.byUrl(url)) !== undefined);
      pages.set('/a', async () => {
        await gate.pass();
        return article('A', '2');
      });
      await set.forget(url);
      expect((await cms.call('POST', '/collect')).body).toMatchObject({ new: 1 });
      await until('the crawler fetches the page', async () => gate.waiting === 1);
      return { gate, site, set, cms, url };
    }

    it('doesn’t take in an article that is deleted during its fetch', async () => {
      const { gate, set, cms, url } = await fetchedAgain(app.url);
      await cms.call('DELETE', `/articles/${(await cms.byUrl(url))!.id}`);
      await cms.told();
      gate.release();
      expect(await set.check(url)).toBe('unseen');
      await until('the fetch has ended', async () => {
        const description = await set.describe();
        return 'queue' in description && description.queue.leased === 0;
      });
      expect(await cms.articles()).toEqual([]);
    });

    it('doesn’t take in an article again while its URL is waiting to be forgotten', async () => {
      const keeper = await startKeeper(app.url);
      const { gate, site, set, cms, url } = await fetchedAgain(keeper.url);
      keeper.refuses = /\/urls\/forget$/;
      await cms.call('DELETE', `/articles/${(await cms.byUrl(url))!.id}`);
      gate.release();
      await until('the crawler has fetched the page again', async () => {
        const description = await set.describe();
        if (!('queue' in description)) return false;
        const { waiting, leased, delayed } = description.queue;
        return waiting + leased + delayed === 0;
      });
      expect(site.asked().filter((path) => path === '/a')).toHaveLength(3);
      expect(await cms.articles()).toEqual([]);
      keeper.refuses = undefined;
      await cms.told();
      expect(await set.check(url)).toBe('unseen');
    });

    it('keeps an upload that arrived while the crawler fetched the same page', async () => {
      const gate = new Gate();
      const pages = new Map<string, Reply | (() => Promise<Reply>)>();
      pages.set('/a', async () => {
        await gate.pass();
        return article('A', 'By the crawler.');
      });
      const site = await siteOf(pages);
      const set = freshSet(app.url);
      const cms = await startCms(app.url, set.name, '--source', `${site.url}/`);
      await until('the crawler fetches the page', async () => gate.waiting === 1);
      const draft = { url: `${site.url}/a`, title: 'Mine', body: 'By hand.' };
      expect((await cms.call('POST', '/articles', draft)).status).toBe(409);
      expect((await cms.call('POST', '/articles', { ...draft, force: true })).status).toBe(201);
      gate.release();
      await until('the page is done', async () => {
        const description = await set.describe();
        return 'queue' in description && description.queue.leased === 0;
      });
      const [{ id, ...there }] = (await cms.articles()) as [Article];
      expect(there).toMatchObject({ title: 'Mine', origin: 'upload', version: 1 });
      // The set has the URL for this article, because it told the crawler "new".
      await cms.call('DELETE', `/articles/${id}`);
      await cms.told();
      expect(await set.check(draft.url)).toBe('unseen');
    });

    it('collects all other articles despite any bad page or link', async () => {
      const pages = new Map([
        [`/${'日'.repeat(600_000)}`, { status: 404 }],
        [
          '/deep',
          { ...(article('Deep', '') as object), body: `<title>Deep</title>${'<b>x'.repeat(400_000)}` },
        ],
        ['/other', article('Other', 'x')],
      ]);
      const site = await siteOf(pages);
      const cms = await startCms(app.url, freshName('cms'), '--source', `${site.url}/`);
      await until('both articles are collected', async () => (await cms.articles()).length === 2);
      expect((await cms.call('POST', '/collect')).body).toEqual({ links: 2, new: 0, failed: {} });
    });

    it('takes in uploads during a sync', async () => {
      const keeper = await startKeeper(app.url);
      const cms = await startCms(keeper.url, freshName('cms'), '--patience', '0');
      const draft = { url: 'https://example.org/a', title: 'A', body: '' };
      await cms.call('POST', '/articles', draft);
      await cms.told();
      keeper.keeps = '/syncs';
      const synced = cms.call('POST', '/sync');
      await until('a sync is open', async () => keeper.gate.waiting === 1);
      keeper.refuses = /\/urls\/visit$/;
      const { body } = await cms.call('POST', '/articles', { ...draft, url: 'https://example.org/b' });
      keeper.gate.release();
      expect((await synced).body).toMatchObject({ done: true });
      keeper.refuses = undefined;
      await cms.told();
      expect((await cms.call('GET', `/uploads/${String(body['id'])}`)).body['state']).toBe('taken');
    });

    it('forgets URLs while the set is too full for uploads', async () => {
      const small = await startApp({ MAX_FILTER_BYTES: '65536' });
      open.push({ clean: () => small.close() });
      const set = freshSet(small.url);
      const cms = await startCms(small.url, set.name, '--capacity', '100', '--patience', '0');
      const draft = { url: 'https://example.org/a', title: 'A', body: '' };
      await cms.call('POST', '/articles', draft);
      await cms.told();
      const { id } = (await cms.byUrl(draft.url))!;
      let next = 0;
      for (const length of [1_000, 100, 10, 1]) {
        let full: unknown;
        while (full === undefined && next < 100_000) {
          const urls = Array.from({ length }, () => `https://example.com/${next++}`);
          await set.visit(urls).catch((error: unknown) => (full = error));
        }
        expect(full).toMatchObject({ code: 'FILTER_FULL' });
      }
      const waiting = await cms.call('POST', '/articles', { ...draft, url: 'https://example.org/b' });
      expect(waiting.status).toBe(202);
      await cms.call('DELETE', `/articles/${id}`);
      await until('the URL is forgotten', async () => (await set.check(draft.url)) === 'unseen');
      // A sync frees space, including space for the waiting upload.
      expect((await cms.call('POST', '/sync?force=true')).body).toMatchObject({ done: true });
      await cms.told();
      expect(await cms.byUrl('https://example.org/b')).toBeDefined();
    });

    it('exits immediately while Unseen doesn’t answer', async () => {
      const keeper = await startKeeper(app.url);
      keeper.keeps = '/v1/visited-sets';
      const cms = await startCms(keeper.url, freshName('cms'));
      await until('the CMS waits for Unseen', async () => keeper.gate.waiting === 1);
      expect(await cms.stop()).toBe(0);
      // The CMS has not asked again in the meantime.
      expect(keeper.gate.waiting).toBe(1);
    });

    it('forgets a URL only if it got "new" for its article', async () => {
      const set = freshSet(app.url);
      const cms = await startCms(app.url, set.name);
      const url = 'https://example.org/theirs';
      await until('the set is made', async () => (await set.describe().catch(() => undefined)) !== undefined);
      await set.visit(url);
      const draft = { url, title: 'A', body: '' };
      expect((await cms.call('POST', '/articles', draft)).status).toBe(409);
      const { status, body } = await cms.call('POST', '/articles', { ...draft, force: true });
      expect(status).toBe(201);
      await cms.call('DELETE', `/articles/${String(body['article'])}`);
      await cms.told();
      expect(await set.check(url)).toBe('seen');
    });

    it('collects an article again when the set has forgotten it by age', async () => {
      const pages = [
        ['/', page(['/moved'])],
        ['/moved', { status: 302, headers: { location: '/a' } }],
        ['/a', article('A', '1')],
      ] as const;
      const site = await siteOf(new Map<string, Reply>(pages));
      const age = ['--max-age', '10', '--source', `${site.url}/`];
      const set = freshSet(app.url);
      const cms = await startCms(app.url, set.name, ...age);
      const versionOfIt = async (): Promise<number> => (await cms.byUrl(`${site.url}/a`))?.version ?? 0;
      await until('the article is collected', async () => (await versionOfIt()) === 1);
      await until('the article is collected again', async () => {
        // Forget the target of the redirect, as each sync does, because it isn't an article. Collecting it again must
        // not make the article younger.
        await set.forget(`${site.url}/moved`);
        await cms.call('POST', '/collect');
        return (await versionOfIt()) > 1;
      });
      expect(await cms.articles()).toHaveLength(1);
    });

    it('adds its articles to a set that was created again', async () => {
      const set = freshSet(app.url);
      const cms = await startCms(app.url, set.name);
      const url = 'https://example.org/kept';
      const forced = 'https://example.org/forced';
      expect((await cms.call('POST', '/articles', { url, title: 'A', body: '' })).status).toBe(201);
      await set.visit(forced);
      const draft = { url: forced, title: 'B', body: '', force: true };
      const { body } = await cms.call('POST', '/articles', draft);
      await set.drop();
      await cms.stop();
      await cms.start();
      await until('the CMS has added its articles', async () => cms.said().includes('added 2 articles'));
      expect(await set.check([url, forced])).toEqual(['seen', 'seen']);
      // Now the set has the URL for the article.
      await cms.call('DELETE', `/articles/${String(body['article'])}`);
      await cms.told();
      expect(await set.check(forced)).toBe('unseen');
    });

    it('locks its data: a second process is refused, and a killed one leaves no lock', async () => {
      const cms = await startCms(app.url, freshName('cms'));
      const second = cms.again();
      expect(await second.ended).toBe(1);
      expect(second.stderr()).toMatch(/is in use by another process/);
      await cms.call('POST', '/articles', { url: 'https://example.org/a', title: 'A', body: '' });
      await cms.kill();
      // If several start at the same time, one owns the data.
      const some = [cms.again(), cms.again(), cms.again()];
      const refused = (): Running[] => some.filter(({ child }) => child.exitCode === 1);
      await until('two processes are refused', async () => refused().length === 2);
      for (const { ended, stderr } of refused()) {
        // By the end of the process, its output has also ended.
        await ended;
        expect(stderr()).toMatch(/is in use by another process/);
      }
      for (const { child, ended } of some) {
        child.kill('SIGKILL');
        await ended;
      }
      await cms.start();
      expect(await cms.articles()).toHaveLength(1);
    });

    it('locks only its own folder, even if long paths are similar', async () => {
      const cms = await startCms(app.url, freshName('cms'));
      const both = ['1', '2'].map((end) => cms.again('x'.repeat(120) + end));
      try {
        await until('both processes listen', async () => {
          for (const { child, stderr } of both) if (child.exitCode !== null) throw new Error(stderr());
          return both.every(({ stdout }) => stdout().includes('is at'));
        });
      } finally {
        for (const { child, ended } of both) {
          child.kill('SIGKILL');
          await ended;
        }
      }
    });

    it('names faults of requests and options, and refuses other web pages', async () => {
      const cms = await startCms(app.url, freshName('cms'));
      const wrong = async (json: object): Promise<unknown> => {
        const { status, body } = await cms.call('POST', '/articles', json);
        return [status, body['error']];
      };
      const draft = { url: 'https://example.org/', title: 'A', body: '' };
      expect(await wrong({ ...draft, url: 'ftp://x' })).toEqual([400, 'not an http or https URL: ftp://x']);
      expect(await wrong({ ...draft, title: '' })).toEqual([
        400,
        'body/title must NOT have fewer than 1 characters',
      ]);
      expect(await wrong({ ...draft, colour: 'red' })).toEqual([
        400,
        'body must NOT have additional properties',
      ]);
      expect(await wrong({ ...draft, liveUntil: 'soon' })).toEqual([
        400,
        'body/liveUntil must match format "date-time"',
      ]);
      // JavaScript doesn't support leap seconds.
      expect(await wrong({ ...draft, liveUntil: '2016-12-31T23:59:60Z' })).toEqual([
        400,
        'not a time: 2016-12-31T23:59:60Z',
      ]);
      expect((await cms.call('DELETE', '/articles/7')).status).toBe(404);
      // SQLite ends a text at U+0000, so the CMS replaces it as browsers do.
      const { body } = await cms.call('POST', '/articles', { ...draft, title: 'A\0B', body: 'x\0y' });
      expect((await cms.call('GET', `/articles/${String(body['article'])}`)).body).toMatchObject({
        title: 'A\uFFFDB',
        body: 'x\uFFFDy',
      });
      const foreign = await fetch(`${cms.url}/sync`, {
        method: 'POST',
        headers: { origin: 'http://evil.example' },
      });
      expect(foreign.status).toBe(403);
      const failed = await run(process.execPath, [
        join(example.folder, 'dist', 'main.js'),
        '--nightly',
        '25:00',
      ]).catch((error: unknown) => error);
      expect(failed).toMatchObject({ code: 2, stderr: expect.stringContaining('not "25:00"') as unknown });
    });

    it('works as its README says', async () => {
      const cms = await startCms(app.url, freshName('cms'));
      for (const { command, answer = '' } of documentedCalls('examples/cms/README.md')) {
        const here = command.replaceAll('http://127.0.0.1:4000', cms.url);
        const { stdout } = await run('bash', ['-c', here], { timeout: 240_000 });
        expect([command, stdout]).toEqual([command, expect.stringMatching(promised(answer))]);
      }
    });
  });
});
