import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { UnseenClient, type VisitedSet } from '#client';
import { STORES } from '../e2e/stores.js';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { buildExample, whySkipped, type Example } from '../support/example.js';
import { startProcess } from '../support/service-process.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { PYTHON_PROGRAM, startProgram, TYPESCRIPT, type Program, type Running } from './worker-programs.js';
import { Gate, page, Site, type Fetch, type Reply } from './worker-site.js';

const why = whySkipped('worker');
const describeExample = why === '' ? describe : describe.skip;
const PROGRAMS = [TYPESCRIPT, PYTHON_PROGRAM];
/** How often a connection is cut. */
const CUTS = 15;
const EMPTY = { waiting: 0, leased: 0, delayed: 0, dead: 0 };
/** The manners of a crawler take time, which no test measures. */
const QUICK = ['--delay', '0', '--retry', '0'];

/** The links of page n of a tree of so many: the two below it, and those around it. */
function linksOf(n: number, count: number): string[] {
  const links = [2 * n + 1, 2 * n + 2, (n + 1) % count, (7 * n) % count, 0];
  return links.filter((link) => link < count).map((link) => `/${link}#part-${n}`);
}

/** The pages of a tree, and no robots.txt. */
function tree(count: number, also: (n: number) => readonly string[] = () => []): (path: string) => Reply {
  return (path) => {
    const n = /^\/\d+$/.test(path) ? Number(path.slice(1)) : NaN;
    return n < count ? page([...linksOf(n, count), ...also(n)]) : { status: 404 };
  };
}

const pathsOf = (count: number): string[] => Array.from({ length: count }, (_, n) => `/${n}`).sort();

describeExample(`examples/worker${why}`, () => {
  let example: Example;
  const running: Running[] = [];
  const sites: Site[] = [];
  beforeAll(async () => {
    example = await buildExample('worker');
  });
  afterAll(() => example.remove());
  afterEach(async () => {
    for (const { child, ended } of running.splice(0)) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
    }
    for (const site of sites.splice(0)) await site.stop();
  });

  const startSite = async (answer: (fetch: Fetch) => Reply | Promise<Reply>): Promise<Site> => {
    const site = await Site.start(answer);
    sites.push(site);
    return site;
  };
  const start = (program: Program, args: readonly string[]): Running => {
    const one = startProgram(program, example.folder, args);
    running.push(one);
    return one;
  };
  /** To its end. */
  const run = async (program: Program, args: readonly string[]): Promise<Running> => {
    const one = start(program, args);
    await endWell(one);
    return one;
  };
  const endWell = async (one: Running): Promise<void> => {
    const ended = await one.ended;
    if (ended !== 0) throw new Error(`it ended with ${ended}: ${one.stderr()}`);
  };
  const counts = async (set: VisitedSet): Promise<Record<keyof typeof EMPTY, number>> => {
    const description = await set.describe();
    if (!('queue' in description)) throw new Error('the set has lost data');
    const { waiting, leased, delayed, dead } = description.queue;
    return { waiting, leased, delayed, dead };
  };
  const deadLetters = async (set: VisitedSet): Promise<ReadonlyMap<string, string>> => {
    const reasons = new Map<string, string>();
    for await (const { url, reason } of set.deadLetters()) reasons.set(new URL(url).pathname, reason);
    return reasons;
  };

  describe.each(STORES)(
    'three workers, one of which is killed, $name store',
    ({ name, start: startStore }) => {
      let app: TestApp;
      let set: VisitedSet;
      beforeAll(async () => {
        app = await startStore();
      });
      afterAll(() => app.close());

      const TEAMS: readonly (readonly [string, readonly [Program, Program, Program]])[] = [
        [
          'two in TypeScript, one of them killed, and one in Python',
          [TYPESCRIPT, TYPESCRIPT, PYTHON_PROGRAM],
        ],
        ['three in Python', [PYTHON_PROGRAM, PYTHON_PROGRAM, PYTHON_PROGRAM]],
      ];
      const PAGES = 100;
      const HELD = 6;
      it.each(name === 'embedded' ? TEAMS : TEAMS.slice(0, 1))(
        `crawl 200 pages: each once, or again because it was with the killed one: %s${PYTHON_PROGRAM.why}`,
        async (_, programs) => {
          // Without Python the team is in TypeScript.
          const [killed, ...others] = programs.map((program) => (program.why === '' ? program : TYPESCRIPT));
          set = new UnseenClient({ url: app.url }).visitedSet(freshName('set'));
          const gate = new Gate();
          const answers = new Map<string, number>();
          const both: Site[] = [];
          const startOne = async (): Promise<Site> => {
            const answer = tree(PAGES, (n) => both.map(({ url }) => `${url}/${n}`));
            const site: Site = await startSite(async ({ path, agent }) => {
              if (agent !== 'killed' || path === '/robots.txt') return answer(path);
              const nth = (answers.get(site.url) ?? 0) + 1;
              answers.set(site.url, nth);
              // The third page of each site that it asks for stays with it.
              if (nth >= 3) await gate.pass();
              return answer(path);
            });
            both.push(site);
            return site;
          };
          const [a, b] = [await startOne(), await startOne()];
          const args = (agent: string, ...more: readonly string[]): string[] => [
            ...QUICK,
            ...['--user-agent', `${agent}/1.0`, '--host', b.host, ...more],
            ...[app.url, set.name, `${a.url}/0`],
          ];
          const victim = start(
            killed!,
            args('killed', '--lease', '5', '--concurrency', '2', '--held', `${HELD}`),
          );
          await until('the first worker has begun', async () => a.fetches.length > 0);
          const team = others.map((program, i) => start(program, args(`other-${i}`)));
          await until('the first is in mid-fetch on both sites', async () => gate.waiting === 2);
          await until('the others have begun', async () => a.asked().length + b.asked().length >= 20);
          const inHand = both.flatMap((site) => site.fetches.filter(({ agent }) => agent === 'killed'));
          victim.child.kill('SIGKILL');
          expect(await victim.ended).toBe('SIGKILL');
          for (const one of team) await endWell(one);
          gate.release();

          expect(await counts(set)).toEqual(EMPTY);
          let again = 0;
          for (const site of both) {
            const pages = site.pages();
            expect([...pages.keys()].sort()).toEqual(pathsOf(PAGES));
            for (const [path, agents] of pages) {
              const byOthers = agents.filter((agent) => agent !== 'killed');
              expect([path, byOthers.length <= 1, agents.length <= 2]).toEqual([path, true, true]);
              if (agents.length === 2) again++;
            }
            // What it had asked for and not got was handed out again.
            const lost = site.fetches.filter(({ agent }) => agent === 'killed').at(-1)!;
            expect(pages.get(lost.path)).toHaveLength(2);
          }
          expect(again).toBeGreaterThanOrEqual(2);
          expect(again).toBeLessThanOrEqual(HELD);
          expect(inHand.length).toBeGreaterThanOrEqual(again);
        },
      );
    },
  );

  describe.each(PROGRAMS)('in $name$why', (program) => {
    const itRuns = program.why === '' ? it : it.skip;
    let app: TestApp;
    let set: VisitedSet;
    beforeAll(async () => {
      app = await startApp();
    });
    afterAll(() => app.close());
    const freshSet = (url = app.url): VisitedSet => {
      set = new UnseenClient({ url }).visitedSet(freshName('set'));
      return set;
    };

    itRuns('asks a host for one page at a time, and a slow host keeps no other from its turn', async () => {
      // Without `maxAttempts`, so that the slow host may be put off as long as it takes.
      await freshSet().create({ capacity: 1_000 });
      const gate = new Gate();
      const slow = await startSite(async ({ path }) => {
        if (path !== '/0' && path !== '/robots.txt') await gate.pass();
        return tree(6, () => pathsOf(6))(path);
      });
      const quick = await startSite(({ path }) => tree(40)(path));
      const args = [...QUICK, '--concurrency', '2', '--held', '4', app.url, set.name];
      const worker = start(program, [...args, `${slow.url}/0`, `${quick.url}/0`]);
      await until('the slow host is waited for', async () => gate.waiting > 0);
      await until('the other is crawled', async () => quick.pages().size === 40);
      expect(slow.asked()).toHaveLength(2);
      gate.release();
      await endWell(worker);
      expect([slow.asked().sort(), quick.asked().sort()]).toEqual([pathsOf(6), pathsOf(40)]);
      // Those that had no room here were put off.
      expect(worker.stderr()).toMatch(/, 0 failed, [1-9]\d* given back/);
      expect([slow.mostAtOnce, quick.mostAtOnce]).toEqual([1, 1]);
      expect(await counts(set)).toEqual(EMPTY);
    });

    itRuns('fetches nothing that robots.txt disallows, and asks for it once', async () => {
      freshSet();
      const links = ['/private/1', '/private/2?x=1', '/private', '/public', '/hidden/1'];
      const robots = [
        ...['User-agent: *', 'Disallow: /', ''],
        ...['User-agent: unseen-worker', 'Disallow: /private/', 'Disallow: /hidden', 'Allow: /'],
      ].join('\n');
      const site = await startSite(({ path }) =>
        path === '/robots.txt' ? { body: robots } : path === '/public' ? page(['/0']) : page(links),
      );
      const { visits } = await run(program, [...QUICK, app.url, set.name, `${site.url}/0`]);
      expect(site.asked().sort()).toEqual(['/0', '/private', '/public']);
      expect(site.fetches[0]?.path).toBe('/robots.txt');
      expect(site.fetches.filter(({ path }) => path === '/robots.txt')).toHaveLength(1);
      const disallowed = visits().filter((visit) => visit.disallowed === true);
      expect(disallowed.map(({ url }) => url.slice(site.url.length)).sort()).toEqual([
        ...['/hidden/1', '/private/1', '/private/2?x=1'],
      ]);
      expect(await counts(set)).toEqual(EMPTY);
    });

    itRuns('fetches nothing while robots.txt cannot be had, and says so', async () => {
      freshSet();
      const site = await startSite(({ path, nth }) =>
        path === '/robots.txt' && nth < 2 ? { status: 503 } : tree(3)(path),
      );
      const args = ['--delay', '0', '--retry', '1', app.url, set.name, `${site.url}/0`];
      const { stderr } = await run(program, args);
      expect(site.fetches.map(({ path }) => path).slice(0, 4)).toEqual([
        ...['/robots.txt', '/robots.txt', '/0', '/1'],
      ]);
      expect(site.asked().sort()).toEqual(pathsOf(3));
      expect(stderr()).toContain(`${site.url}/0: robots.txt: HTTP 503, attempt 1`);
      expect(await counts(set)).toEqual(EMPTY);

      const down = await startSite(() => ({ status: 500 }));
      await freshSet().create({ capacity: 1_000, maxAttempts: 2 });
      await run(program, [...QUICK, app.url, set.name, `${down.url}/0`]);
      expect(down.asked()).toEqual([]);
      expect(await deadLetters(set)).toEqual(new Map([['/0', 'robots.txt: HTTP 500']]));
    });

    itRuns(
      'leaves a host alone for as long as its Crawl-delay says, and holds nothing of it when it is stopped',
      async () => {
        freshSet();
        const slow = await startSite(({ path }) =>
          path === '/robots.txt' ? { body: 'User-agent: *\nCrawl-delay: 3600' } : tree(3)(path),
        );
        const quick = await startSite(({ path }) => tree(30)(path));
        const args = [...QUICK, app.url, set.name, `${slow.url}/0`, `${quick.url}/0`];
        const worker = start(program, args);
        await until('the other is crawled', async () => quick.pages().size === 30);
        await until('what the slow one links to is leased', async () => (await counts(set)).leased === 2);
        expect(slow.asked()).toEqual(['/0']);
        worker.child.kill('SIGTERM');
        await endWell(worker);
        expect(slow.asked()).toEqual(['/0']);
        expect(await counts(set)).toEqual({ ...EMPTY, waiting: 2 });
      },
    );

    itRuns('tries again what failed, and leaves what always fails dead, with the reason', async () => {
      await freshSet().create({ capacity: 1_000, maxAttempts: 3 });
      const links = ['/flaky', '/later', '/broken', '/cut', '/gone', '/moved', '/round', '/away', '/next?0'];
      const site = await startSite(({ path, nth }) => {
        if (path === '/0')
          return page([...links, 'mailto:x@example.org', 'javascript:0', 'http://[bad', '/pdf']);
        if (path === '/flaky') return nth < 3 ? { status: 503 } : page(['/after-flaky']);
        if (path === '/later') return nth < 2 ? { status: 429, headers: { 'retry-after': '1' } } : page([]);
        if (path === '/broken') return { status: 500 };
        if (path === '/cut') return 'cut';
        if (path === '/moved') return { status: 301, headers: { location: '/0/../target#x' } };
        if (path === '/round') return { status: 302, headers: { location: '/round' } };
        if (path === '/away') return { status: 302, headers: { location: 'http://example.invalid/' } };
        const [, hop] = /^\/next\?(\d+)$/.exec(path) ?? [];
        if (hop !== undefined) return { status: 302, headers: { location: `/next?${Number(hop) + 1}` } };
        if (path === '/pdf')
          return { headers: { 'content-type': 'application/pdf' }, body: '<a href="/no">' };
        return ['/after-flaky', '/target'].includes(path) ? page([]) : { status: 404 };
      });
      const { visits } = await run(program, [...QUICK, app.url, set.name, `${site.url}/0`]);
      const times = (path: string): number => site.pages().get(path)?.length ?? 0;
      expect(
        ['/flaky', '/later', '/broken', '/after-flaky', '/gone', '/moved', '/target', '/round'].map(times),
      )
        // A page that is gone is done: it is not asked for again.
        .toEqual([3, 2, 3, 1, 1, 1, 1, 1]);
      // Ten redirects are followed, one after the other.
      expect(site.asked().filter((path) => path.startsWith('/next'))).toHaveLength(11);
      expect(site.asked()).not.toContain('/no');
      const dead = await deadLetters(set);
      expect([...dead.keys()].sort()).toEqual(['/broken', '/cut']);
      expect(dead.get('/broken')).toBe('HTTP 500');
      expect(dead.get('/cut')).toMatch(/closed|reset|hang up|without response/i);
      expect(await counts(set)).toEqual({ ...EMPTY, dead: 2 });
      const moved = visits().find(({ url }) => url.endsWith('/moved'));
      expect(moved).toMatchObject({ status: 301, depth: 1, links: 1, new: 1 });
      expect(visits().find(({ url }) => url.endsWith('/target'))).toMatchObject({ status: 200, depth: 1 });
      expect(visits().find(({ url }) => url.endsWith('/gone'))).toMatchObject({ status: 404, links: 0 });
      expect(visits().filter(({ url }) => url.includes('example.invalid'))).toEqual([]);
    });

    itRuns('waits no longer for a page than it may, and reads no more of it', async () => {
      await freshSet().create({ capacity: 1_000, maxAttempts: 1 });
      const site = await startSite(({ path }) => (path === '/0' ? 'never' : { status: 404 }));
      await run(program, [...QUICK, '--timeout', '2', app.url, set.name, `${site.url}/0`]);
      // On a machine that stalls it may be the robots.txt that was waited for.
      expect((await deadLetters(set)).get('/0')).toMatch(/^(robots.txt: )?no whole answer within 2 s$/);

      freshSet();
      const large = page(['/1', ...Array.from({ length: 50_000 }, () => '/1'), '/2']);
      const long = await startSite(({ path }) => (path === '/0' ? large : tree(1)(path)));
      const { visits } = await run(program, [
        ...[...QUICK, '--max-bytes', '10000', app.url, set.name, `${long.url}/0`],
      ]);
      expect(long.asked().sort()).toEqual(['/0', '/1']);
      expect(visits()[0]).toMatchObject({ links: 1, new: 1, cut: true });
    });

    itRuns('follows links as deep as it is told, to the hosts that it is told', async () => {
      freshSet();
      const other = await startSite(({ path }) => tree(4)(path));
      const site = await startSite(({ path }) =>
        path === '/0' ? page([`${other.url}/0`, '/1', `http://localhost:1/`]) : tree(20)(path),
      );
      const args = [...QUICK, '--max-depth', '2', app.url, set.name, `${site.url}/0`];
      const { visits } = await run(program, args);
      expect(other.fetches).toEqual([]);
      // 1 leads to 3, 4, 2, 7 and 0, which lead no further.
      expect(site.asked().sort()).toEqual(['/0', '/1', '/2', '/3', '/4', '/7']);
      const depths = Object.fromEntries(visits().map(({ url, depth }) => [new URL(url).pathname, depth]));
      expect(depths).toEqual({ '/0': 0, '/1': 1, '/2': 2, '/3': 2, '/4': 2, '/7': 2 });

      freshSet();
      await run(program, [...QUICK, '--host', other.host, app.url, set.name, `${site.url}/0`]);
      expect(other.asked().sort()).toEqual(pathsOf(4));
    });

    itRuns(
      'that is stopped ends what it has begun and leaves nothing leased; another does the rest',
      async () => {
        freshSet();
        const gate = new Gate();
        let held = 10;
        const site = await startSite(async ({ path }) => {
          if (path !== '/robots.txt' && --held < 0) await gate.pass();
          return tree(60)(path);
        });
        const args = [...QUICK, app.url, set.name, `${site.url}/0`];
        const worker = start(program, args);
        await until('it is in mid-fetch', async () => gate.waiting === 1);
        worker.child.kill('SIGTERM');
        await until('it knows', async () => worker.stderr().includes('SIGTERM'));
        const asked = site.asked();
        expect(asked).toHaveLength(11);
        gate.release();
        await endWell(worker);
        expect(site.asked()).toEqual(asked);
        expect(worker.visits()).toHaveLength(11);
        const { waiting, ...rest } = await counts(set);
        expect({ waiting: 0, ...rest }).toEqual(EMPTY);
        expect(waiting).toBeGreaterThan(0);

        await run(program, args);
        expect(site.asked().sort()).toEqual(pathsOf(60));
        expect(await counts(set)).toEqual(EMPTY);
      },
    );

    itRuns('that is stopped twice ends at once', async () => {
      freshSet();
      const site = await startSite(({ path }) => (path === '/0' ? 'never' : { status: 404 }));
      const worker = start(program, [...QUICK, app.url, set.name, `${site.url}/0`]);
      await until('it is in mid-fetch', async () => site.asked().length === 1);
      worker.child.kill('SIGINT');
      await until('it knows', async () => worker.stderr().includes('SIGINT'));
      worker.child.kill('SIGTERM');
      expect([143, 'SIGTERM']).toContain(await worker.ended);
      expect(await counts(set)).toEqual({ ...EMPTY, leased: 1 });
    });

    itRuns('loses nothing and does nothing twice when connections to the service break', async () => {
      const proxy = await TcpProxy.start(app.port);
      freshSet();
      const site = await startSite(({ path }) => tree(60)(path));
      const url = `http://127.0.0.1:${proxy.port}`;
      const worker = start(program, [...QUICK, url, set.name, `${site.url}/0`]);
      let isOver = false;
      void worker.ended.then(() => (isOver = true));
      let cuts = 0;
      await until('it has ended', async () => {
        if (!isOver && proxy.hasCut && cuts < CUTS)
          proxy.cutAfter(cuts % 3 === 0 ? 'request' : 'reply', (307 * cuts++) % 2_000);
        return isOver;
      });
      await proxy.stop();
      await endWell(worker);
      expect([cuts, proxy.hasCut]).toEqual([CUTS, true]);
      expect(site.asked().sort()).toEqual(pathsOf(60));
      expect(await counts(set)).toEqual(EMPTY);
    });

    itRuns('loses nothing and does nothing twice when the service is killed and comes back', async () => {
      const gate = new Gate();
      let held = 20;
      const site = await startSite(async ({ path }) => {
        if (path !== '/robots.txt' && --held < 0) await gate.pass();
        return tree(60)(path);
      });
      const first = await startProcess();
      const url = await first.url();
      const { port } = new URL(url);
      freshSet(url);
      const worker = start(program, [...QUICK, url, set.name, `${site.url}/0`]);
      await until('it is in mid-fetch', async () => gate.waiting === 1);
      first.child.kill('SIGKILL');
      await first.exit();
      // The page comes while nobody takes its links.
      gate.release();
      const second = await startProcess({ PORT: port, DATA_DIR: first.dataDir });
      try {
        await endWell(worker);
        expect(site.asked().sort()).toEqual(pathsOf(60));
        expect(await counts(set)).toEqual(EMPTY);
      } finally {
        await second.clean();
        await first.clean();
      }
    });

    itRuns('says what is wrong with its arguments', async () => {
      for (const [args, text] of [
        [['--concurrency', 'x'], /concurrency.* must be a whole number from 1 to 250, not ["']x["']/],
        [['--held', '3'], /held.* must be .*, not "?3/],
        [['--delay', '-1'], /delay/],
        [['ftp://example.org/'], /["']ftp:\/\/example.org\/["'] is no http or https URL/],
      ] as const) {
        const worker = start(program, [app.url, 'set', 'http://127.0.0.1:1/', ...args]);
        expect(await worker.ended).toBe(2);
        expect(worker.stderr()).toMatch(text);
      }
    });
  });
});
