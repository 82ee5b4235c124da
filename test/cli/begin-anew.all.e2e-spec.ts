import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UnseenClient, type VisitedSet } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { runCommand, startCommand } from '../support/command-line.js';
import { Front } from '../support/front.js';
import { PagesServer } from '../support/pages-server.js';
import type { Ended } from '../support/service-process.js';
import { index, urlset } from '../support/sitemaps.js';

const urlAt = (i: number): string => `https://example.org/${i}`;
const urls = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => urlAt(from + i));

/** Entries that come before the sources' failure. The first thousand are sent as a block. */
const FIRST = urls(0, 1_500);

describe('a job that can’t continue', () => {
  let app: TestApp;
  let client: UnseenClient;
  let site: PagesServer;
  let folder: string;
  beforeAll(async () => {
    app = await startApp();
    client = new UnseenClient({ url: app.url });
    site = await PagesServer.start();
    folder = await mkdtemp(join(tmpdir(), 'unseen-anew-'));
  });
  afterAll(async () => {
    await site.stop();
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  const unseen = (...args: string[]): Promise<Ended> =>
    runCommand(args, { env: { UNSEEN_URL: app.url, HOME: folder } });
  const checkpoints = (): Promise<string[]> =>
    readdir(join(folder, '.local', 'state', 'unseen')).catch(() => []);
  const made = async (): Promise<VisitedSet> => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 10_000, errorRate: 1e-9 });
    return set;
  };
  /** An index of two sitemaps. The second one is unavailable until `next`. */
  const night = (): { url: string; next: (first: readonly string[]) => void } => {
    const path = `/${freshName('site')}`;
    site.set(`${path}/index.xml`, index(`${site.url}${path}/one.xml`, `${site.url}${path}/two.xml`));
    site.set(`${path}/one.xml`, urlset(...FIRST));
    site.set(`${path}/two.xml`, { status: 503 });
    return {
      url: `${site.url}${path}/index.xml`,
      next: (first) => {
        site.set(`${path}/one.xml`, urlset(...first));
        site.set(`${path}/two.xml`, urlset(urlAt(5_000)));
      },
    };
  };
  const failed = { code: 3, stdout: '', stderr: expect.stringContaining('two.xml": HTTP 503') };
  const anew = { code: 0, stderr: expect.stringContaining('starting over: the sources changed') };

  it('because its sources have changed starts over, and a sync abandons its previous one', async () => {
    const set = await made();
    await set.visit(urls(0, 2_000));
    const { url, next } = night();
    expect(await unseen('sync', set.name, url)).toEqual(failed);
    expect(await checkpoints()).toHaveLength(1);
    // The next run comes within the sync's idle time.
    next(urls(1, 1_500));
    expect(await unseen('sync', set.name, url)).toMatchObject({
      ...anew,
      stdout: expect.stringContaining('forgot 501 of 2,000 items; listed: 1,499 kept, 1 new'),
    });
    expect(await set.check([0, 1, 1_499, 1_500, 5_000].map(urlAt))).toEqual([
      'unseen',
      'seen',
      'seen',
      'unseen',
      'seen',
    ]);
    expect(await checkpoints()).toEqual([]);
  });

  it('continues if its sources have not changed', async () => {
    const set = await made();
    const { url, next } = night();
    expect(await unseen('sync', set.name, url)).toEqual(failed);
    next(FIRST);
    expect(await unseen('sync', set.name, url)).toMatchObject({
      ...{ code: 0, stderr: expect.stringContaining('continuing after 1000 lines') },
      stdout: expect.stringContaining('listed: 0 kept, 1,501 new'),
    });
  });

  it('starts over with --restart, and a sync abandons its previous one', async () => {
    const set = await made();
    const { url, next } = night();
    expect(await unseen('sync', set.name, url)).toEqual(failed);
    next(FIRST);
    expect(await unseen('sync', set.name, url, '--restart')).toMatchObject({ code: 0, stderr: '' });
  });

  it.each(['sync', 'visit'])(
    'by %s --restart over the checkpoint of another set ends its sync',
    async (verb) => {
      const [former, set] = [await made(), await made()];
      const { url, next } = night();
      const checkpoint = ['--checkpoint', join(folder, freshName('checkpoint'))];
      expect(await unseen('sync', former.name, url, ...checkpoint)).toEqual(failed);
      expect(await former.describe()).toHaveProperty('sync');
      next(FIRST);
      expect(await unseen(verb, set.name, url, ...checkpoint)).toMatchObject({ code: 2 });
      expect(await unseen(verb, set.name, url, ...checkpoint, '--restart')).toMatchObject({ code: 0 });
      expect(await former.describe()).not.toHaveProperty('sync');
    },
  );

  it('finds its sync again if --restart is killed before the service has abandoned it', async () => {
    const set = await made();
    const { url, next } = night();
    const service = await Front.start(app.url);
    try {
      const env = { UNSEEN_URL: service.url, HOME: folder };
      expect(await runCommand(['sync', set.name, url], { env })).toEqual(failed);
      const asked = service.holdNext({ method: 'DELETE' });
      const restarted = await startCommand(['sync', set.name, url, '--restart'], { env });
      await asked;
      restarted.child.kill('SIGKILL');
      await restarted.ended;
      next(FIRST);
      expect(await runCommand(['sync', set.name, url, '--restart'], { env })).toMatchObject({ code: 0 });
    } finally {
      await service.stop();
    }
  });

  it('because its sync was abandoned starts over', async () => {
    const set = await made();
    const { url, next } = night();
    expect(await unseen('sync', set.name, url)).toEqual(failed);
    expect(await unseen('sync', set.name, '--abandon')).toMatchObject({
      ...{ code: 0, stdout: expect.stringMatching(/: abandoned \w+; nothing was forgotten\n$/) },
    });
    next(FIRST);
    expect(await unseen('sync', set.name, url)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('starting over: the sync of this job has ended'),
    });
  });

  it.each([
    ['discover', 'new'],
    ['visit', 'new'],
    ['forget', 'forgotten'],
  ])('of %s also starts over', async (verb, word) => {
    const set = await made();
    if (verb === 'forget') await set.visit([...FIRST, urlAt(5_000)]);
    const { url, next } = night();
    expect(await unseen(verb, set.name, url)).toEqual(failed);
    next(urls(1, 1_500));
    // The first call processed all other lines.
    expect(await unseen(verb, set.name, url)).toMatchObject({
      ...anew,
      stdout: expect.stringContaining(`: 501 ${word}, `),
    });
    expect(await set.check([0, 1, 5_000].map(urlAt))).toEqual(
      verb === 'forget' ? ['unseen', 'unseen', 'unseen'] : ['seen', 'seen', 'seen'],
    );
    expect(await checkpoints()).toEqual([]);
  });

  it('because its set was cleared starts over', async () => {
    const set = await made();
    const { url, next } = night();
    expect(await unseen('visit', set.name, url)).toEqual(failed);
    await set.clear();
    next(FIRST);
    expect(await unseen('visit', set.name, url)).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining('1,501 new') },
      stderr: expect.stringContaining('starting over: the set was cleared, or deleted and created again'),
    });
  });

  it('of a multiset requires --restart, which counts items twice', async () => {
    const filter = client.filter(freshName());
    await filter.create({ type: 'counting', semantics: 'multiset', capacity: 10_000, errorRate: 1e-9 });
    const { url, next } = night();
    expect(await unseen('add', filter.name, url)).toEqual(failed);
    next(urls(1, 1_500));
    expect(await unseen('add', filter.name, url)).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining('start over with --restart') },
    });
    expect(await filter.count([urlAt(0), urlAt(1)])).toEqual([1, 1]);
    expect(await unseen('add', filter.name, url, '--restart')).toMatchObject({ code: 0 });
    expect(await filter.count([urlAt(0), urlAt(1)])).toEqual([1, 2]);
  });

  it('of a multiset with --only-absent starts over, and counts no item twice', async () => {
    const filter = client.filter(freshName());
    await filter.create({ type: 'counting', semantics: 'multiset', capacity: 10_000, errorRate: 1e-9 });
    const { url, next } = night();
    const add = () => unseen('add', filter.name, url, '--only-absent');
    expect(await add()).toEqual(failed);
    next(urls(1, 1_500));
    expect(await add()).toMatchObject({ code: 0, stderr: expect.stringContaining('starting over') });
    expect(await filter.count([urlAt(0), urlAt(1)])).toEqual([1, 1]);
  });

  it('leaves no checkpoint and no sync, if it has done nothing', async () => {
    const set = await made();
    for (const source of [`${site.url}/none`, join(folder, 'none')]) {
      for (const verb of ['visit', 'sync'])
        expect((await unseen(verb, set.name, source)).stderr).toMatch(/none": (?:HTTP 404|ENOENT)/);
    }
    expect(await checkpoints()).toEqual([]);
    expect(await set.describe()).not.toHaveProperty('sync');
  });

  it('because another sync is open says how to abandon that sync', async () => {
    const set = await made();
    await set.syncs.open();
    const list = join(folder, 'list');
    await writeFile(list, `${urlAt(0)}\n`);
    expect(await unseen('sync', set.name, list)).toMatchObject({
      ...{
        code: 4,
        stderr: expect.stringContaining(`to abandon it, run: unseen sync ${set.name} --abandon`),
      },
    });
    expect(await unseen('sync', set.name, list, '--abandon')).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining('takes no sources') },
    });
    expect(await unseen('sync', set.name, '--abandon')).toMatchObject({ code: 0 });
    expect(await unseen('sync', set.name, '--abandon', '--json')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"abandoned":null'),
    });
    expect(await unseen('sync', set.name, list)).toMatchObject({ code: 0 });
  });
});
