import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type TestApp } from '../support/app.js';
import { buildExample, whySkipped, type Example } from '../support/example.js';
import { until } from '../support/until.js';
import { PYTHON_PROGRAM } from './worker-programs.js';
import { page, type Reply } from './worker-site.js';
import {
  counts,
  deadLetters,
  EMPTY,
  endWell,
  freshSet,
  ONE_EACH,
  pathsOf,
  QUICK,
  Stage,
  tree,
  withEach,
} from './worker-stage.js';

const why = whySkipped('worker');
const describeExample = why === '' ? describe : describe.skip;

describeExample(`examples/worker and its pages${why}`, () => {
  let example: Example;
  const stage = new Stage(() => example);
  beforeAll(async () => {
    example = await buildExample('worker');
  });
  afterAll(() => example.remove());
  afterEach(() => stage.clear());

  describe(`each in TypeScript and in Python${PYTHON_PROGRAM.why}`, () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await startApp();
    });
    afterAll(() => app.close());

    it(
      'fetches nothing that robots.txt disallows, and fetches robots.txt once',
      withEach(async (program) => {
        const set = freshSet(app.url);
        const links = ['/private/1', '/private/2?x=1', '/private', '/public', '/hidden/1'];
        const robots = [
          ...['User-agent: *', 'Disallow: /', ''],
          ...['User-agent: unseen-worker', 'Disallow: /private/', 'Disallow: /hidden', 'Allow: /'],
        ].join('\n');
        const site = await stage.site(({ path }) =>
          path === '/robots.txt' ? { body: robots } : path === '/public' ? page(['/0']) : page(links),
        );
        const { visits } = await stage.run(program, [...QUICK, app.url, set.name, `${site.url}/0`]);
        expect(site.asked().sort()).toEqual(['/0', '/private', '/public']);
        expect(site.fetches[0]?.path).toBe('/robots.txt');
        expect(site.fetches.filter(({ path }) => path === '/robots.txt')).toHaveLength(1);
        const disallowed = visits().filter((visit) => visit.disallowed === true);
        expect(disallowed.map(({ url }) => url.slice(site.url.length)).sort()).toEqual([
          ...['/hidden/1', '/private/1', '/private/2?x=1'],
        ]);
        expect(await counts(set)).toEqual(EMPTY);
      }),
    );

    it(
      'fetches nothing while robots.txt is unavailable, and says so',
      withEach(async (program) => {
        const set = freshSet(app.url);
        const site = await stage.site(({ path, nth }) =>
          path === '/robots.txt' && nth < 2 ? { status: 503 } : tree(3)(path),
        );
        const args = ['--delay', '0', '--retry', '1', app.url, set.name, `${site.url}/0`];
        const { stderr } = await stage.run(program, args);
        expect(site.fetches.map(({ path }) => path).slice(0, 3)).toEqual([
          '/robots.txt',
          '/robots.txt',
          '/0',
        ]);
        expect(site.asked().sort()).toEqual(pathsOf(3));
        expect(stderr()).toContain(`${site.url}/0: robots.txt: HTTP 503, attempt 1`);
        expect(await counts(set)).toEqual(EMPTY);
      }),
    );

    it(
      'leaves URLs without an available robots.txt as dead letters, with the reason',
      withEach(async (program) => {
        const set = freshSet(app.url);
        await set.create({ ...ONE_EACH, maxAttempts: 2 });
        const down = await stage.site(() => ({ status: 500 }));
        await stage.run(program, [...QUICK, app.url, set.name, `${down.url}/0`]);
        expect(down.asked()).toEqual([]);
        expect(await deadLetters(set)).toEqual(new Map([['/0', 'robots.txt: HTTP 500']]));
      }),
    );

    it(
      'keeps a host for its Crawl-delay, and ends the wait when stopped',
      withEach(async (program) => {
        const set = freshSet(app.url);
        const slow = await stage.site(({ path }) =>
          path === '/robots.txt' ? { body: 'User-agent: *\nCrawl-delay: 3600' } : tree(3)(path),
        );
        const quick = await stage.site(({ path }) => tree(30)(path), 'localhost');
        const args = [...QUICK, app.url, set.name, `${slow.url}/0`, `${quick.url}/0`];
        const worker = stage.start(program, args);
        await until('the fast host is crawled', async () => quick.pages().size === 30);
        await until('only the page of the slow host is leased', async () => {
          const { waiting, leased } = await counts(set);
          return waiting === 2 && leased === 1;
        });
        expect(slow.asked()).toEqual(['/0']);
        worker.child.kill('SIGTERM');
        await endWell(worker);
        expect(slow.asked()).toEqual(['/0']);
        expect(await counts(set)).toEqual({ ...EMPTY, waiting: 2 });
      }),
    );

    it(
      'retries failed pages, and leaves those that always fail as dead letters, with the reason',
      withEach(async (program) => {
        const set = freshSet(app.url);
        await set.create({ ...ONE_EACH, maxAttempts: 3 });
        const site = await stage.site(({ path, nth }) => {
          if (path === '/0') return page(['/flaky', '/later', '/broken', '/cut', '/gone']);
          if (path === '/flaky') return nth < 3 ? { status: 503 } : page(['/after']);
          if (path === '/later') return nth < 2 ? { status: 429, headers: { 'retry-after': '1' } } : page([]);
          if (path === '/broken') return { status: 500 };
          if (path === '/cut') return 'cut';
          return path === '/after' ? page([]) : { status: 404 };
        });
        const { visits } = await stage.run(program, [...QUICK, app.url, set.name, `${site.url}/0`]);
        const times = Object.fromEntries([...site.pages()].map(([path, agents]) => [path, agents.length]));
        // A page that is gone is done, and not requested again.
        expect(times).toMatchObject({ '/flaky': 3, '/later': 2, '/broken': 3, '/gone': 1, '/after': 1 });
        expect(visits().find(({ url }) => url.endsWith('/gone'))).toMatchObject({ status: 404, links: 0 });
        const dead = await deadLetters(set);
        expect([...dead.keys()].sort()).toEqual(['/broken', '/cut']);
        expect(dead.get('/broken')).toBe('HTTP 500');
        expect(dead.get('/cut')).toMatch(/closed|reset|hang up|without response/i);
        expect(await counts(set)).toEqual({ ...EMPTY, dead: 2 });
      }),
    );

    it(
      'leaves a host alone after its Retry-After, and refuses a set that would not do so',
      withEach(async (program) => {
        const set = freshSet(app.url);
        const times: number[] = [];
        const site = await stage.site(({ path, nth }) => {
          if (path !== '/robots.txt') times.push(performance.now());
          const isBusy = path === '/1' && nth === 1;
          return isBusy ? { status: 429, headers: { 'retry-after': '2' } } : tree(4)(path);
        });
        await stage.run(program, [...QUICK, app.url, set.name, `${site.url}/0`]);
        expect(site.asked()).toHaveLength(5);
        const busy = site.asked().indexOf('/1');
        expect(times[busy + 1]! - times[busy]!).toBeGreaterThanOrEqual(2_000);
        expect(await counts(set)).toEqual(EMPTY);

        const other = freshSet(app.url);
        await other.create({ capacity: 1_000 });
        const refused = stage.start(program, [...QUICK, app.url, other.name, `${site.url}/0`]);
        expect(await refused.ended).toBe(1);
        expect(refused.stderr()).toContain(`${other.name} exists, but its perHost.maxLeased is not 1`);
      }),
    );

    it(
      'fetches a redirect’s target as its own page, once',
      withEach(async (program) => {
        const set = freshSet(app.url);
        const links = ['/moved', '/also-moved', '/round', '/away', '/hop?0'];
        const site = await stage.site(({ path }) => {
          if (path === '/0') return page(links);
          if (path === '/moved') return { status: 301, headers: { location: '/0/../target#x' } };
          if (path === '/also-moved') return { status: 302, headers: { location: `${site.url}/target` } };
          if (path === '/round') return { status: 302, headers: { location: '/round' } };
          if (path === '/away') return { status: 302, headers: { location: 'http://example.invalid/' } };
          const [, hop] = /^\/hop\?(\d+)$/.exec(path) ?? [];
          if (hop !== undefined) return { status: 302, headers: { location: `/hop?${Number(hop) + 1}` } };
          return path === '/target' ? page([]) : { status: 404 };
        });
        const { visits } = await stage.run(program, [...QUICK, app.url, set.name, `${site.url}/0`]);
        const visited = (path: string) => visits().filter(({ url }) => url === site.url + path);
        expect(visited('/target')).toEqual([
          { url: `${site.url}/target`, depth: 1, status: 200, links: 0, new: 0 },
        ]);
        expect([...visited('/moved'), ...visited('/also-moved')].map((visit) => visit.new).sort()).toEqual([
          0, 1,
        ]);
        expect(visited('/round')).toHaveLength(1);
        // Ten redirects in a row, and no more.
        expect(site.asked().filter((path) => path.startsWith('/hop'))).toHaveLength(11);
        expect(visits().filter(({ url }) => url.includes('example.invalid'))).toEqual([]);
        expect(await counts(set)).toEqual(EMPTY);
      }),
    );

    it(
      'waits for a page until its timeout',
      withEach(async (program) => {
        const set = freshSet(app.url);
        await set.create({ ...ONE_EACH, maxAttempts: 1 });
        const site = await stage.site(({ path }) => (path === '/0' ? 'never' : { status: 404 }));
        await stage.run(program, [...QUICK, '--timeout', '2', app.url, set.name, `${site.url}/0`]);
        // On a stalling machine, the timeout may hit robots.txt instead.
        expect((await deadLetters(set)).get('/0')).toMatch(/^(robots.txt: )?no complete answer within 2 s$/);
      }),
    );

    it(
      'reads a page up to its limit, and takes the links in that part',
      withEach(async (program) => {
        const set = freshSet(app.url);
        const large = page(['/1', ...Array.from({ length: 50_000 }, () => '/1'), '/2']);
        const site = await stage.site(({ path }) => (path === '/0' ? large : tree(1)(path)));
        const args = [...QUICK, '--max-bytes', '10000', app.url, set.name, `${site.url}/0`];
        const { visits } = await stage.run(program, args);
        expect(site.asked().sort()).toEqual(['/0', '/1']);
        expect(visits()[0]).toMatchObject({ links: 1, new: 1, cut: true });
      }),
    );

    it(
      'finds the links that a browser would follow',
      withEach(async (program) => {
        const set = freshSet(app.url);
        const html = (body: string, type = 'text/html'): Reply => ({
          headers: { 'content-type': type },
          body,
        });
        const site = await stage.site(({ path }) => {
          if (path === '/0')
            return html(
              `<BASE href="/below/"><a href=one>1</a><A HREF=' two?a=1&amp;b=2#x '>2</A><map><area href="../three"></map>
             <a href="one#again">1</a><a href="caf%C3%A9 &eacute;">4</a><a href="//${site.host}/five">5</a>
             <!-- <a href="/no">0</a> --><script>'<a href="/no">'</script><a name="x">0</a><a href="">0</a>
             <a href="mailto:x@example.org">0</a><a href="javascript:0">0</a><a href="http://[bad">0</a>
             <a href="/plain">6</a><a href="/nofollow">7</a>`,
              'text/html; charset=utf-8',
            );
          if (path === '/plain') return html('<a href="/no">0</a>', 'text/plain');
          if (path === '/nofollow')
            return html('<meta name=ROBOTS content="noindex, nofollow"><a href="/no">0</a>');
          return page([]);
        });
        await stage.run(program, [...QUICK, app.url, set.name, `${site.url}/0`]);
        expect(site.asked().sort()).toEqual([
          ...['/0', '/below/', '/below/caf%C3%A9%20%C3%A9', '/below/one', '/below/two?a=1&b=2'],
          ...['/five', '/nofollow', '/plain', '/three'],
        ]);
      }),
    );

    it(
      'follows links down to its depth limit',
      withEach(async (program) => {
        const set = freshSet(app.url);
        const site = await stage.site(({ path }) => (path === '/0' ? page(['/1']) : tree(20)(path)));
        const args = [...QUICK, '--max-depth', '2', app.url, set.name, `${site.url}/0`];
        const { visits } = await stage.run(program, args);
        // Page 1 links to 3, 4, 2, 7 and 0. The worker follows no links on those.
        const depths = Object.fromEntries(visits().map(({ url, depth }) => [new URL(url).pathname, depth]));
        expect(depths).toEqual({ '/0': 0, '/1': 1, '/2': 2, '/3': 2, '/4': 2, '/7': 2 });
        expect(site.asked().sort()).toEqual(Object.keys(depths).sort());
      }),
    );

    it(
      'follows links only to the given hosts',
      withEach(async (program) => {
        const [set, wider] = [freshSet(app.url), freshSet(app.url)];
        const other = await stage.site(({ path }) => tree(4)(path));
        const site = await stage.site(({ path }) =>
          path === '/0' ? page([`${other.url}/0`, 'http://localhost:1/']) : { status: 404 },
        );
        await stage.run(program, [...QUICK, app.url, set.name, `${site.url}/0`]);
        expect(other.fetches).toEqual([]);
        await stage.run(program, [...QUICK, '--host', other.host, app.url, wider.name, `${site.url}/0`]);
        expect(other.asked().sort()).toEqual(pathsOf(4));
      }),
    );

    it(
      'reports wrong arguments',
      withEach(async (program) => {
        const wrong = [
          [['--concurrency', 'x'], /--concurrency:? must be a whole number from 1 to 250, not ["']x["']/],
          [['--delay', '-1'], /--delay/],
          [['--delay', '0.5'], /--delay:? must be a whole number from 0 to 3600, not ["']0.5["']/],
          [['ftp://example.org/'], /["']ftp:\/\/example.org\/["'] is not an http or https URL/],
        ] as const;
        for (const [args, text] of wrong) {
          const worker = stage.start(program, [app.url, 'set', 'http://127.0.0.1:1/', ...args]);
          expect(await worker.ended).toBe(2);
          expect(worker.stderr()).toMatch(text);
        }
      }),
    );
  });
});
