import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UnseenClient, type VisitedSet } from '#client';
import { STORES } from '../e2e/stores.js';
import { freshName, type TestApp } from '../support/app.js';
import { runCommand } from '../support/command-line.js';
import type { Ended } from '../support/service-process.js';

const DAY = 86_400;
const urlAt = (page: string): string => `https://example.org/${page}`;

describe.each(STORES)('the command line, order and time, $name store', ({ start }) => {
  let app: TestApp;
  let client: UnseenClient;
  let folder: string;
  beforeAll(async () => {
    app = await start();
    client = new UnseenClient({ url: app.url });
    folder = await mkdtemp(join(tmpdir(), 'unseen-cli-'));
  });
  afterAll(async () => {
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  const unseen = (args: readonly string[], input = ''): Promise<Ended> =>
    runCommand(args, { env: { UNSEEN_URL: app.url, HOME: folder }, input });
  const made = async (options: object = {}): Promise<VisitedSet> => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 1_000, ...options });
    return set;
  };

  it('discover takes a priority and a delay, and list shows scheduled URLs', async () => {
    const { name } = await made();
    const discover = (page: string, ...options: string[]) =>
      unseen(['discover', name, ...options], `${urlAt(page)}\n`);
    expect(await discover('low', '--priority', 'low')).toMatchObject({ code: 0 });
    expect(await discover('normal')).toMatchObject({ code: 0 });
    expect(await discover('high', '--priority', 'high')).toMatchObject({ code: 0 });
    expect(await discover('late', '--priority', 'high', '--delay', '30d')).toMatchObject({ code: 0 });
    expect((await unseen(['list'])).stdout).toMatch(new RegExp(`^${name} .*  3 waiting, 1 scheduled$`, 'm'));
    expect((await unseen(['show', name])).stdout).toContain('"delayed":0,"scheduled":1,"dead":0');
    const work = ['work', name, '--exec', 'echo', '--until-empty'];
    expect((await unseen(work)).stdout.split('\n').slice(0, 3)).toEqual(['high', 'normal', 'low'].map(urlAt));
    app.advance(30 * DAY * 1_000);
    expect((await unseen(work)).stdout).toContain(urlAt('late'));
  });

  it('work brings acknowledged URLs back', async () => {
    const set = await made();
    await set.discover([urlAt('a'), urlAt('b')]);
    const again = ['work', set.name, '--exec', 'true', '--until-empty', '--again-after', '1d'];
    expect(await unseen(again)).toMatchObject({ code: 0, stdout: `work ${set.name}: 2 done, 0 failed\n` });
    expect(await set.describe()).toMatchObject({ queue: { waiting: 0, scheduled: 2 } });
    app.advance(DAY * 1_000);
    expect(await unseen(again)).toMatchObject({ stdout: `work ${set.name}: 2 done, 0 failed\n` });
  });

  it('names the limits of times and priorities', async () => {
    const { name } = await made({ maxAgeSeconds: DAY });
    const again = ['work', name, '--exec', 'true', '--again-after'];
    for (const [args, stderr] of [
      [['discover', name, '--priority', 'urgent'], 'Allowed choices are high, normal, low'],
      [
        ['discover', name, '--delay', '3651d'],
        `'3651d' is invalid. It must be a whole number of seconds from 0 to 315360000`,
      ],
      [['visit', name, '--priority', 'low'], "unknown option '--priority'"],
      [[...again, '0'], `'0' is invalid. It must be a whole number of seconds from 1 to 315360000`],
      [[...again, '1d'], `--again-after does not apply to ${name}, which has --max-age`],
    ] as const)
      expect(await unseen(args)).toMatchObject({ code: 2, stderr: expect.stringContaining(stderr) });
    expect(await unseen(['discover', name, '--delay', '1d'], `${urlAt('a')}\n`)).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('delaySeconds must be less than 86400'),
    });
  });
});
