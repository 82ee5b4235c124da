import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { STORES } from '../e2e/stores.js';
import { startApp, type TestApp } from '../support/app.js';
import { buildExample, whySkipped, type Example } from '../support/example.js';
import { freePort } from '../support/redis-server.js';
import { startProcess, type ServiceProcess } from '../support/service-process.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { PYTHON_PROGRAM, TYPESCRIPT, type Program } from './worker-programs.js';
import { Gate, type Site, type SiteName } from './worker-site.js';
import {
  counts,
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
/** How often the test cuts a connection. */
const CUTS = 15;

describeExample(`examples/worker${why}`, () => {
  let example: Example;
  const stage = new Stage(() => example);
  beforeAll(async () => {
    example = await buildExample('worker');
  });
  afterAll(() => example.remove());
  afterEach(() => stage.clear());

  describe.each(STORES)(
    'three workers, one of which is killed, $name store',
    ({ name, start: startStore }) => {
      let app: TestApp;
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
      /** Longer than the test, so no lease ends before the test moves the clock. */
      const LEASE_SECONDS = 3_600;
      it.each(name === 'embedded' ? TEAMS : TEAMS.slice(0, 1))(
        `crawl 200 pages once each, or twice if the killed one had leased them: %s${PYTHON_PROGRAM.why}`,
        async (_, programs) => {
          // Without Python, the whole team is in TypeScript.
          const [killed, ...others] = programs.map((program) => (program.why === '' ? program : TYPESCRIPT));
          const set = freshSet(app.url);
          const gate = new Gate();
          const answers = new Map<string, number>();
          const both: Site[] = [];
          const startOne = async (name: SiteName): Promise<Site> => {
            const answer = tree(PAGES, (n) => both.map(({ url }) => `${url}/${n}`));
            const site: Site = await stage.site(async ({ path, agent }) => {
              if (agent !== 'killed' || path === '/robots.txt') return answer(path);
              const nth = (answers.get(site.url) ?? 0) + 1;
              answers.set(site.url, nth);
              // From its third request on each site, the doomed worker's answers wait at the gate.
              if (nth >= 3) await gate.pass();
              return answer(path);
            }, name);
            both.push(site);
            return site;
          };
          const [a, b] = [await startOne('127.0.0.1'), await startOne('localhost')];
          const args = (agent: string, lease: number, ...more: readonly string[]): string[] => [
            ...[...QUICK, '--lease', String(lease)],
            ...['--user-agent', `${agent}/1.0`, '--host', b.host, ...more],
            ...[app.url, set.name, `${a.url}/0`],
          ];
          const victim = stage.start(killed!, args('killed', LEASE_SECONDS, '--concurrency', '2'));
          await until('the first worker has begun', async () => a.fetches.length > 0);
          const team = others.map((program, i) =>
            stage.start(program, args(`other-${i}`, 2 * LEASE_SECONDS)),
          );
          await until('the first worker fetches from both sites', async () => gate.waiting === 2);
          victim.child.kill('SIGKILL');
          expect(await victim.ended).toBe('SIGKILL');
          // Ends the leases of the killed worker only.
          app.advance(LEASE_SECONDS * 1_000);
          for (const one of team) await endWell(one);
          gate.release();

          expect(await counts(set)).toEqual(EMPTY);
          for (const site of both) {
            const pages = site.pages();
            expect([...pages.keys()].sort()).toEqual(pathsOf(PAGES));
            // Only the page that the killed worker had requested, and whose answer it never got, was leased again.
            const lost = site.fetches.filter(({ agent }) => agent === 'killed').at(-1)!;
            for (const [path, agents] of pages)
              expect([path, agents.length]).toEqual([path, path === lost.path ? 2 : 1]);
            expect(site.mostAtOnce).toBeLessThanOrEqual(2);
          }
        },
      );
    },
  );

  describe(`each in TypeScript and in Python${PYTHON_PROGRAM.why}`, () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await startApp();
    });
    afterAll(() => app.close());

    it(
      'fetches one page at a time from a host beside another worker, and a slow host does not hold up others',
      withEach(async (program) => {
        const set = freshSet(app.url);
        const gate = new Gate();
        const slow = await stage.site(async ({ path }) => {
          if (path !== '/0' && path !== '/robots.txt') await gate.pass();
          return tree(6, () => pathsOf(6))(path);
        });
        const quick = await stage.site(({ path }) => tree(40)(path), 'localhost');
        const args = [...QUICK, '--concurrency', '2', app.url, set.name, `${slow.url}/0`, `${quick.url}/0`];
        const workers = [stage.start(program, args), stage.start(program, args)];
        await until('a worker waits for the slow host', async () => gate.waiting > 0);
        await until('the fast host is crawled', async () => quick.pages().size === 40);
        expect(slow.asked()).toHaveLength(2);
        gate.release();
        for (const worker of workers) await endWell(worker);
        expect([slow.asked().sort(), quick.asked().sort()]).toEqual([pathsOf(6), pathsOf(40)]);
        expect([slow.mostAtOnce, quick.mostAtOnce]).toEqual([1, 1]);
        expect(await counts(set)).toEqual(EMPTY);
      }),
    );

    it(
      'ends despite a page that always fails, which stays in the queue of a set without a limit',
      withEach(async (program) => {
        const set = freshSet(app.url);
        await set.create(ONE_EACH);
        const site = await stage.site(({ path }) => (path === '/1' ? { status: 500 } : tree(3)(path)));
        await stage.run(program, [...QUICK, '--attempts', '2', app.url, set.name, `${site.url}/0`]);
        expect(site.asked().sort()).toEqual(['/0', '/1', '/1', '/2']);
        expect(await counts(set)).toEqual({ ...EMPTY, delayed: 1 });
      }),
    );

    it(
      'ends beside another worker if pages always fail, which stay in the queue',
      withEach(async (program) => {
        const set = freshSet(app.url);
        await set.create(ONE_EACH);
        const gate = new Gate();
        const answer = async ({ path }: { path: string }) => {
          if (path === '/robots.txt') return { status: 404 };
          await gate.pass();
          return { status: 500 };
        };
        // Each of the two workers gets one of the hosts.
        const sites = [await stage.site(answer), await stage.site(answer, 'localhost')];
        const starts = sites.flatMap(({ url }) => pathsOf(5).map((path) => url + path));
        const args = [...QUICK, '--attempts', '2', '--concurrency', '1', app.url, set.name, ...starts];
        const workers = [stage.start(program, args), stage.start(program, args)];
        await until('both workers fetch a page', async () => gate.waiting === 2);
        gate.release();
        for (const worker of workers) await endWell(worker);
        for (const site of sites)
          expect(site.asked().sort()).toEqual(pathsOf(5).flatMap((path) => [path, path]));
        expect(await counts(set)).toEqual({ ...EMPTY, delayed: 10 });
      }),
    );

    it(
      'reports that it is retrying if the service is unreachable',
      withEach(async (program) => {
        const host = `127.0.0.1:${await freePort()}`;
        const worker = stage.start(program, [...QUICK, `http://${host}`, 'set', 'http://127.0.0.1:9/']);
        await until('the worker reports the retries', async () =>
          worker.stderr().includes(`retrying, connection refused by ${host}\n`),
        );
      }),
    );

    it(
      'on a stop, finishes its pages in progress and leaves nothing leased, and another worker does the rest',
      withEach(async (program) => {
        const set = freshSet(app.url);
        await set.create({ ...ONE_EACH, maxAttempts: 1 });
        const gate = new Gate();
        let held = 10;
        const site = await stage.site(async ({ path }) => {
          if (path !== '/robots.txt' && --held < 0) await gate.pass();
          return tree(60)(path);
        });
        const args = [...QUICK, app.url, set.name, `${site.url}/0`];
        const worker = stage.start(program, args);
        await until('the worker fetches a page', async () => gate.waiting === 1);
        worker.child.kill('SIGTERM');
        await until('the worker has noticed the signal', async () => worker.stderr().includes('SIGTERM'));
        const asked = site.asked();
        expect(asked).toHaveLength(11);
        gate.release();
        await endWell(worker);
        expect(site.asked()).toEqual(asked);
        expect(worker.visits()).toHaveLength(11);
        const { waiting, ...rest } = await counts(set);
        expect({ waiting: 0, ...rest }).toEqual(EMPTY);
        expect(waiting).toBeGreaterThan(0);

        await stage.run(program, args);
        expect(site.asked().sort()).toEqual(pathsOf(60));
        expect(await counts(set)).toEqual(EMPTY);
      }),
    );

    it(
      "shows no part of an invalid API key, and no password from the service's URL",
      withEach(async (program) => {
        const set = freshSet(app.url);
        const site = await stage.site(() => ({ status: 404 }));
        const withKey = stage.start(program, [...QUICK, app.url, set.name, `${site.url}/0`], {
          UNSEEN_API_KEY: 'unseen_secret\nsecond',
        });
        const withPassword = stage.start(program, [
          ...QUICK,
          'ftp://user:password@127.0.0.1',
          set.name,
          `${site.url}/0`,
        ]);
        for (const one of [withKey, withPassword]) {
          expect(await one.ended).not.toBe(0);
          expect(one.stderr()).not.toBe('');
          expect(one.stdout() + one.stderr()).not.toMatch(/secret|second|password@/);
        }
      }),
    );

    it(
      'ends immediately on a second stop',
      withEach(async (program) => {
        const set = freshSet(app.url);
        const site = await stage.site(({ path }) => (path === '/0' ? 'never' : { status: 404 }));
        const worker = stage.start(program, [...QUICK, app.url, set.name, `${site.url}/0`]);
        await until('the worker fetches a page', async () => site.asked().length === 1);
        worker.child.kill('SIGINT');
        await until('the worker has noticed the signal', async () => worker.stderr().includes('SIGINT'));
        worker.child.kill('SIGTERM');
        expect([143, 'SIGTERM']).toContain(await worker.ended);
        expect(await counts(set)).toEqual({ ...EMPTY, leased: 1 });
      }),
    );

    it(
      'loses nothing and does nothing twice when connections to the service break',
      withEach(async (program) => {
        const proxy = await TcpProxy.start(app.port);
        try {
          const set = freshSet(app.url);
          const site = await stage.site(({ path }) => tree(60)(path));
          const url = `http://127.0.0.1:${proxy.port}`;
          const worker = stage.start(program, [...QUICK, url, set.name, `${site.url}/0`]);
          let isOver = false;
          void worker.ended.then(() => (isOver = true));
          let cuts = 0;
          await until('the worker has ended', async () => {
            if (!isOver && proxy.hasCut && cuts < CUTS)
              proxy.cutAfter(cuts % 3 === 0 ? 'request' : 'reply', (307 * cuts++) % 2_000);
            return isOver;
          });
          await endWell(worker);
          expect([cuts, proxy.hasCut]).toEqual([CUTS, true]);
          expect(site.asked().sort()).toEqual(pathsOf(60));
          expect(await counts(set)).toEqual(EMPTY);
        } finally {
          await proxy.stop();
        }
      }),
    );

    it(
      'loses nothing and does nothing twice when the service is killed and restarted',
      withEach(async (program) => {
        const gate = new Gate();
        let held = 20;
        const site = await stage.site(async ({ path }) => {
          if (path !== '/robots.txt' && --held < 0) await gate.pass();
          return tree(60)(path);
        });
        const PORT = String(await freePort());
        const first = await startProcess({ PORT });
        let second: ServiceProcess | undefined;
        try {
          const url = await first.url();
          const set = freshSet(url);
          const worker = stage.start(program, [...QUICK, url, set.name, `${site.url}/0`]);
          await until('the worker fetches a page', async () => gate.waiting === 1);
          first.child.kill('SIGKILL');
          await first.exit();
          // The page arrives while the service is down and can't take its links.
          gate.release();
          second = await startProcess({ PORT, DATA_DIR: first.dataDir });
          await endWell(worker);
          expect(site.asked().sort()).toEqual(pathsOf(60));
          expect(await counts(set)).toEqual(EMPTY);
        } finally {
          await second?.clean();
          await first.clean();
        }
      }),
    );
  });
});
