import { execFile, spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { UnseenClient, type VisitedSet } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { buildExample, whySkipped, type Example } from '../support/example.js';
import { freePort } from '../support/redis-server.js';
import { startSite, type Page, type Site } from './crawlee-site.js';

/** How a program ended. */
interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly signal: NodeJS.Signals | undefined;
}

/** Only a hanging process takes this long. */
const MOST_MS = 180_000;
const MAIN = join('dist', 'main.js');
const PROBE = 'crawlee-probe.mjs';
const RETRIES = 1;
const VISITED_WHEN = ['scheduled', 'handled'];

const why = whySkipped('crawlee');
const describeExample = why === '' ? describe : describe.skip;

describeExample(`the example crawlee${why}`, () => {
  let example: Example;
  beforeAll(async () => {
    example = await buildExample('crawlee');
    await copyFile(resolve('test', 'examples', PROBE), join(example.folder, PROBE));
  });
  afterAll(() => example.remove());

  describe('by two machines', () => {
    let app: TestApp;
    let set: VisitedSet;
    let site: Site;
    beforeAll(async () => {
      app = await startApp();
    });
    afterAll(() => app.close());
    beforeEach(() => {
      set = new UnseenClient({ url: app.url }).visitedSet(freshName('crawlee'));
    });
    afterEach(() => site.stop());

    it('two machines fetch each page once between them', async () => {
      // Both start before either of them finds a link, so both find the same links.
      const { arrive } = meeting(2);
      const links = paths(40);
      site = await startSite({
        ...linked(40),
        '/a': { links, until: arrive },
        '/b': { links, until: arrive },
      });
      const options = ['--service', app.url, '--set', set.name, '--capacity', '10000'];
      const machines = ['/a', '/b'].map(async (path) => {
        const storage = await mkdtemp(join(tmpdir(), 'unseen-crawlee-'));
        const ended = await run(example, [MAIN, ...options, site.url + path], storage);
        await rm(storage, { recursive: true, force: true });
        return parsed(ended) as { finished: number; failed: number };
      });
      const [a, b] = await Promise.all(machines);
      expect(new Set(site.fetched.values())).toEqual(new Set([1]));
      expect([...site.fetched.keys()].sort()).toEqual([...links, '/a', '/b'].sort());
      expect(a!.finished + b!.finished).toBe(42);
    });
  });

  describe('by itself', () => {
    let app: TestApp;
    let set: VisitedSet;
    let storage: string;
    let site: Site | undefined;
    let prober: Prober;
    beforeAll(async () => {
      app = await startApp();
      prober = await Prober.start(example);
    });
    afterAll(async () => {
      await prober.stop();
      await app.close();
    });
    beforeEach(async () => {
      set = new UnseenClient({ url: app.url }).visitedSet(freshName('crawlee'));
      storage = await mkdtemp(join(tmpdir(), 'unseen-crawlee-'));
    });
    afterEach(async () => {
      await site?.stop();
      site = undefined;
      await rm(storage, { recursive: true, force: true });
    });

    function probe(scenario: string, given: object = {}, goesOn = false): Promise<Ended> {
      const all = { service: app.url, set: set.name, ...given };
      return run(example, [PROBE, scenario, JSON.stringify(all)], storage, goesOn);
    }
    /** Runs in a shared process, where each scenario has its own request queue. */
    function answer(scenario: string, given: object = {}): Promise<unknown> {
      return prober.ask(scenario, { service: app.url, set: set.name, ...given });
    }
    const u = (...numbers: number[]) => numbers.map((i) => `https://example.org/u${i}`);

    it('the main program’s second run fetches its start page and the new links', async () => {
      const pages: Record<string, Page> = linked(12);
      site = await startSite(pages);
      const crawl = async () => {
        const options = ['--service', app.url, '--set', set.name, `${site!.url}/0`];
        return parsed(await run(example, [MAIN, ...options], storage));
      };
      expect(await crawl()).toEqual({ finished: 12, failed: 0 });
      expect(site.total()).toBe(12);
      for (const links of [paths(12), [...paths(12), '/new']]) {
        Object.assign(pages, { '/0': { links }, '/new': {} });
        site.reset();
        const expected = ['/0', ...links.filter((path) => path === '/new')];
        expect(await crawl()).toEqual({ finished: expected.length, failed: 0 });
        expect([...site.fetched.keys()]).toEqual(expected);
      }
    });

    it('the main program fetches a page once, even if several redirects and links lead to it', async () => {
      site = await startSite({
        '/': { to: '/0' },
        '/0': { links: ['/before', '/target', '/after', '/loop'] },
        ...{ '/before': { to: '/target' }, '/after': { to: '/target' }, '/target': { links: ['/more'] } },
        ...{ '/more': {}, '/loop': { to: '/pool' }, '/pool': { to: '/loop' } },
      });
      const options = ['--service', app.url, '--set', set.name, `${site.url}/`];
      expect(parsed(await run(example, [MAIN, ...options], storage))).toEqual({ finished: 8, failed: 0 });
      expect(Object.fromEntries(site.fetched)).toEqual(
        Object.fromEntries(
          ['/', '/0', '/before', '/target', '/after', '/loop', '/pool', '/more'].map((path) => [path, 1]),
        ),
      );
    });

    it('the main program continues immediately where a killed run was', async () => {
      const { arrive } = meeting(2);
      let isKilled = false;
      site = await startSite({
        ...linked(3),
        '/2': {
          until: async () => isKilled || (await Promise.all([arrive(), new Promise(() => undefined)])),
        },
      });
      const args = [MAIN, '--service', app.url, '--set', set.name, `${site.url}/0`];
      const victim = begin(example, args, storage);
      await arrive();
      victim.child.kill('SIGKILL');
      expect((await victim.ended).signal).toBe('SIGKILL');
      isKilled = true;
      expect(parsed(await run(example, args, storage))).toMatchObject({ failed: 0 });
      expect(site.fetched.get('/2')).toBe(2);
    });

    it('the main program reports that it is retrying if the service is unreachable', async () => {
      const host = `127.0.0.1:${await freePort()}`;
      const { child, ended } = begin(
        example,
        [MAIN, '--service', `http://${host}`, 'http://127.0.0.1:9/'],
        storage,
      );
      const [said] = (await once(child.stderr!, 'data')) as [string];
      child.kill('SIGKILL');
      await ended;
      expect(said).toBe(`retrying, connection refused by ${host}\n`);
    });

    it('the main program fetches pages that an earlier run visited and didn’t fetch', async () => {
      site = await startSite({ ...linked(3), '/left': {} });
      await probe('leave', { start: [`${site.url}/left`] });
      const options = ['--service', app.url, '--set', set.name, '--capacity', '100000', `${site.url}/0`];
      expect(parsed(await run(example, [MAIN, ...options], storage))).toEqual({ finished: 4, failed: 0 });
      expect([...site.fetched.keys()].sort()).toEqual([...paths(3), '/left']);
    });

    it.each(VISITED_WHEN)('%s: a second run with a new queue fetches no page', async (visitedWhen) => {
      site = await startSite(linked(12));
      const given = { visitedWhen, start: [`${site.url}/0`] };
      expect(await answer('crawl', given)).toEqual({ finished: 12, failed: 0 });
      expect(Object.fromEntries(site.fetched)).toEqual(
        Object.fromEntries(paths(12).map((path) => [path, 1])),
      );
      site.reset();
      expect(await answer('crawl', given)).toEqual({ finished: 0, failed: 0 });
      expect(site.total()).toBe(0);
    });

    it.each(VISITED_WHEN)('%s: pages that were forgotten are fetched again', async (visitedWhen) => {
      site = await startSite(linked(6));
      const given = { visitedWhen, start: [`${site.url}/0`] };
      await answer('crawl', given);
      site.reset();
      await set.forget([`${site.url}/0`, `${site.url}/3`]);
      expect(await answer('crawl', given)).toEqual({ finished: 2, failed: 0 });
      expect([...site.fetched.keys()].sort()).toEqual(['/0', '/3']);
    });

    it.each([
      ['scheduled', { visit: 4, check: 0 }],
      ['handled', { visit: 0, check: 4 }],
    ])('%s: the service is asked about 1,000 URLs at a time', async (visitedWhen, calls) => {
      expect(await answer('counting', { visitedWhen })).toEqual({ fresh: 1_001, again: 0, ...calls });
    });

    it.each(VISITED_WHEN)(
      '%s: a limit applies to new requests, and those above it aren’t visited',
      async (visitedWhen) => {
        const over = u(...range(8, 50));
        expect(await answer('limit', { visitedWhen })).toEqual({
          fresh: 3,
          over,
          fetched: u(...range(0, 8)),
          pending: 0,
        });
        expect(new Set(await set.check(over))).toEqual(new Set(['unseen']));
        expect(new Set(await set.check(u(...range(0, 8))))).toEqual(new Set(['seen']));
      },
    );

    it('requests with their own uniqueKey, other methods, or significant fragments bypass Unseen', async () => {
      const calls = ['visited-sets'];
      expect(await answer('others')).toEqual({ fresh: 3, again: 0, fetched: 3, calls });
    });

    it('a page that was forgotten is fetched again by the same run', async () => {
      expect(await answer('forget')).toEqual({ first: u(0, 1), forgotten: ['forgotten'], second: u(0) });
    });

    it.each(VISITED_WHEN)(
      '%s: a failed page is tried once in a run, and again in the next',
      async (visitedWhen) => {
        site = await startSite({ ...linked(6, ['/broken']), '/broken': { status: 500 } });
        const given = { start: [`${site.url}/0`], visitedWhen, maxRequestRetries: RETRIES };
        for (const round of ['first', 'second']) {
          site.reset();
          expect([round, await answer('crawl', given)]).toEqual([round, { finished: 6, failed: 1 }]);
          expect([round, site.fetched.get('/broken')]).toEqual([round, 1 + RETRIES]);
          expect(await set.check(`${site.url}/broken`)).toBe('unseen');
          await set.forget(paths(6).map((path) => site!.url + path));
        }
      },
    );

    it.each(VISITED_WHEN)('%s: a redirect’s target is also visited', async (visitedWhen) => {
      site = await startSite({ '/old': { to: '/new' }, '/new': {} });
      const given = { visitedWhen, start: [`${site.url}/old`] };
      expect(await answer('crawl', given)).toEqual({ finished: 1, failed: 0 });
      expect(await answer('crawl', { ...given, start: [`${site.url}/new`] })).toEqual({
        finished: 0,
        failed: 0,
      });
      expect(Object.fromEntries(site.fetched)).toEqual({ '/old': 1, '/new': 1 });
    });

    it.each(VISITED_WHEN)(
      '%s: the next run fetches an interrupted one’s queue, although its pages are seen',
      async (visitedWhen) => {
        site = await startSite(linked(8));
        const given = { visitedWhen, start: [`${site.url}/0`], lockSecs: 1 };
        const killed = await probe('crawl', { ...given, crashOn: `${site.url}/4` });
        expect(killed.signal).toBe('SIGKILL');
        expect(site.fetched.size).toBeLessThan(8);
        expect(parsed(await probe('crawl', given, true))).toMatchObject({ failed: 0 });
        expect([...site.fetched.keys()].sort()).toEqual(paths(8));
      },
    );

    it('a crash between the visit and the queue loses nothing', async () => {
      site = await startSite(linked(8));
      const given = { start: [`${site.url}/0`], lockSecs: 1 };
      // The start URL is visited, again by the next process, and then its links are visited.
      for (const crashAtVisit of [1, 1, 3]) {
        const { signal } = await probe('crawl', { ...given, crashAtVisit }, true);
        expect([crashAtVisit, signal]).toEqual([crashAtVisit, 'SIGKILL']);
      }
      expect(Object.fromEntries(site.fetched)).toEqual({ '/0': 1 });
      expect(new Set(await set.check(paths(8).map((path) => site!.url + path)))).toEqual(new Set(['seen']));
      expect(parsed(await probe('crawl', given, true))).toMatchObject({ failed: 0 });
      expect([...site.fetched.keys()].sort()).toEqual(paths(8));
    });

    it('a call whose answer is lost is an error, and the next call queues the visited URLs', async () => {
      const error = expect.stringMatching(/^UnavailableError: .*\/urls\/visit/);
      expect(await answer('lost')).toEqual({
        error,
        // The run must not end as if it were complete.
        finished: error,
        queued: 0,
        fresh: 0,
        fetched: u(...range(0, 5)),
      });
    });

    it('a run fails if requests could not be added in the background', async () => {
      expect(await answer('background')).toEqual({
        fresh: 5,
        error: expect.stringMatching(/^UnavailableError: /),
      });
    });

    it.each(VISITED_WHEN)(
      '%s: a page that robots.txt forbids is neither fetched nor seen',
      async (visitedWhen) => {
        site = await startSite({ '/robots.txt': { text: 'User-agent: *\nDisallow: /0' }, '/0': {} });
        const given = { visitedWhen, start: [`${site.url}/0`] };
        expect(await answer('crawl', { ...given, robots: true })).toEqual({ finished: 0, failed: 0 });
        expect(site.fetched.get('/0')).toBeUndefined();
        expect(await set.check(`${site.url}/0`)).toBe('unseen');
        // So it is fetched once robots.txt allows it.
        expect(await answer('crawl', given)).toEqual({ finished: 1, failed: 0 });
      },
    );

    it.each(VISITED_WHEN)(
      '%s: a page that redirects to another site is seen, and the other site isn’t',
      async (visitedWhen) => {
        site = await startSite({ '/0': { links: ['/away'] }, '/away': { to: '/1' }, '/1': {} }, 'localhost');
        const start = [`${site.url}/0`];
        expect(await answer('crawl', { visitedWhen, start })).toEqual({ finished: 2, failed: 0 });
        const [away, other] = [`${site.url}/away`, `${site.url.replace('127.0.0.1', 'localhost')}/1`];
        expect(await set.check([away, other])).toEqual(['seen', 'unseen']);
        expect(site.fetched.get('/1')).toBe(1);
      },
    );

    it("a request keeps its members, and the caller's object is unchanged", async () => {
      expect(await answer('carried')).toEqual({
        label: 'detail',
        userData: { a: [1], label: 'detail', __crawlee: { crawlDepth: 3, maxRetries: 7 } },
        headers: { x: 'y' },
        crawlDepth: 3,
        maxRetries: 7,
        isUntouched: true,
      });
    });

    it('behaves as the request queue does', async () => {
      expect(await answer('asQueue')).toEqual({
        locks: true,
        timeouts: true,
        added: [false, true],
        before: [false, false, 1],
        taken: u(1)[0],
        fetched: u(1, 100, 0),
        after: [true, true, 0],
        counts: [3, 3],
      });
    });

    it('takes a request list’s requests', async () => {
      expect(await answer('list')).toEqual({ finished: 3 });
      expect(new Set(await set.check(u(0, 1, 2)))).toEqual(new Set(['seen']));
    });

    it('refuses unsupported calls, with the reason', async () => {
      expect(await answer('refused')).toEqual([
        'TypeError: visitedWhen must be one of scheduled, handled, not never',
        'TypeError: a request must have an http or https URL, not undefined',
        expect.stringContaining('fetch https://example.org/u0 with downloadListOfUrls'),
        'RangeError: batchSize must be a number of at least 1, not 0',
        'TypeError: a request must have an http or https URL, not "mailto:me@example.org"',
      ]);
    });

    it('the main program shows its usage and reports wrong arguments', async () => {
      const { stdout } = await run(example, [MAIN], storage);
      expect(stdout).toContain('npm start -- [options] URL...');
      const wrong = await run(example, [MAIN, '--visited-when', 'never', 'http://127.0.0.1/'], storage);
      expect(wrong).toMatchObject({
        stdout: '',
        stderr: '--visited-when must be scheduled or handled, not never\n',
      });
    });

    it('Crawlee still refuses the option requestManager, which is why asRequestQueue is there', async () => {
      expect(await answer('requestManagerOption')).toContain('requestManager');
    });
  });
});

/** A process that runs scenarios one after the other. */
class Prober {
  private readonly closed: Promise<unknown>;
  private readonly lines: AsyncIterator<string, undefined>;
  private stderr = '';

  private constructor(
    private readonly child: ChildProcessByStdio<Writable, Readable, Readable>,
    private readonly storage: string,
  ) {
    this.closed = once(child, 'close');
    this.lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    child.stderr.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
  }

  static async start(example: Example): Promise<Prober> {
    const storage = await mkdtemp(join(tmpdir(), 'unseen-crawlee-'));
    const child = spawn(process.execPath, [PROBE], {
      cwd: example.folder,
      env: { PATH: process.env.PATH, CRAWLEE_STORAGE_DIR: storage },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    return new Prober(child, storage);
  }

  async ask(scenario: string, given: object): Promise<unknown> {
    this.child.stdin.write(`${JSON.stringify([scenario, given])}\n`);
    const { done, value } = await this.lines.next();
    if (done === true) throw new Error(`${PROBE} has ended: ${this.stderr}`);
    const answered = JSON.parse(value) as { answer?: unknown; error?: string };
    if (answered.error !== undefined) throw new Error(answered.error);
    return answered.answer;
  }

  async stop(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.closed;
    await rm(this.storage, { recursive: true, force: true });
  }
}

/** The JSON that a program printed. */
function parsed({ stdout, stderr }: Ended): unknown {
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

/** Runs one of the example's programs. With `goesOn`, it continues with the last process's storage. */
function run(example: Example, args: readonly string[], storage: string, goesOn = false): Promise<Ended> {
  return begin(example, args, storage, goesOn).ended;
}

function begin(
  example: Example,
  args: readonly string[],
  storage: string,
  goesOn = false,
): { child: ChildProcess; ended: Promise<Ended> } {
  const env = {
    PATH: process.env.PATH,
    CRAWLEE_STORAGE_DIR: storage,
    CRAWLEE_PURGE_ON_START: goesOn ? '0' : '1',
  };
  let end: (ended: Ended) => void;
  const ended = new Promise<Ended>((resolve) => (end = resolve));
  const child = execFile(
    process.execPath,
    args,
    { cwd: example.folder, env, timeout: MOST_MS, killSignal: 'SIGKILL' },
    (error, stdout, stderr) => end({ stdout, stderr, signal: error?.signal ?? undefined }),
  );
  return { child, ended };
}

function paths(count: number): string[] {
  return range(0, count).map((i) => `/${i}`);
}

/** Pages that all link to each other, and to `more`. */
function linked(count: number, more: readonly string[] = []): Record<string, Page> {
  const links = [...paths(count), ...more];
  return Object.fromEntries(paths(count).map((path) => [path, { links }]));
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

/** `arrive` waits until `count` callers have arrived. */
function meeting(count: number): { arrive: () => Promise<void> } {
  let arrived = 0;
  let open: () => void;
  const all = new Promise<void>((resolve) => (open = resolve));
  return {
    arrive() {
      if (++arrived >= count) open();
      return all;
    },
  };
}
