import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { UnseenClient, type VisitedSet } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { runCommand, startCommand } from '../support/command-line.js';
import { Front, type Holding } from '../support/front.js';
import type { Ended } from '../support/service-process.js';
import { until } from '../support/until.js';

const urlAt = (i: number): string => `https://example.org/${i}`;
const LISTED = [urlAt(0), urlAt(1)];
const OTHERS = [urlAt(2)];
const OPENING: Holding = { method: 'POST', path: '/syncs', hold: 'answer' };
const COMMIT: Holding = { method: 'POST', path: '/commit', hold: 'answer' };

describe('a command-line sync that gets no answer', () => {
  let app: TestApp;
  let front: Front;
  let folder: string;
  let list: string;
  let set: VisitedSet;
  beforeEach(async () => {
    app = await startApp();
    front = await Front.start(app.url);
    folder = await mkdtemp(join(tmpdir(), 'unseen-lost-'));
    list = join(folder, 'list');
    await writeFile(list, `${LISTED.join('\n')}\n`);
    set = new UnseenClient({ url: app.url }).visitedSet(freshName('set'));
    await set.create({ capacity: 10_000, errorRate: 1e-9 });
    await set.visit([...LISTED, ...OTHERS]);
  });
  afterEach(async () => {
    await front.stop();
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  const env = () => ({ UNSEEN_URL: front.url, HOME: folder });
  const sync = (...args: string[]): Promise<Ended> => runCommand(['sync', set.name, ...args], { env: env() });
  const checkpoints = (): Promise<string[]> =>
    readdir(join(folder, '.local', 'state', 'unseen')).catch(() => []);
  /** Withholds the answer to a call of the command, and then sends the command the signals. */
  const cutAt = async (holding: Holding, args: readonly string[], signals: NodeJS.Signals[]) => {
    const held = front.holdNext(holding);
    const running = await startCommand(['sync', set.name, ...args], {
      env: env(),
      input: `${LISTED.join('\n')}\n`,
    });
    await held;
    for (const signal of signals) running.child.kill(signal);
    return running.ended;
  };
  const forgotten = { code: 0, stdout: expect.stringContaining('forgot 1 of 3 items; listed: 2 kept') };

  it.each<[string, NodeJS.Signals[]]>([
    ['interrupted twice', ['SIGINT', 'SIGTERM']],
    ['killed', ['SIGKILL']],
  ])('to its opening, and is %s, continues the sync that it opened', async (_, signals) => {
    const cut = await cutAt(OPENING, [list], signals);
    if (signals[0] !== 'SIGKILL')
      expect(cut).toMatchObject({
        ...{ code: 130, stderr: expect.stringContaining('0 lines; run the same command again to continue') },
      });
    expect(await checkpoints()).toHaveLength(1);
    expect(await set.describe()).toHaveProperty('sync');
    expect(await sync(list)).toMatchObject(forgotten);
    expect(await checkpoints()).toEqual([]);
  });

  it('to its opening abandons that sync with --restart, even with a different capacity', async () => {
    const checkpoint = ['--checkpoint', join(folder, 'checkpoint')];
    await cutAt(OPENING, [list, ...checkpoint, '--capacity', '20000'], ['SIGKILL']);
    expect(await sync(list, ...checkpoint, '--capacity', '30000', '--restart')).toMatchObject(forgotten);
  });

  it.each([
    ['reads stdin', ['-']],
    ['is a dry run', ['list', '--dry-run']],
    ['keeps no checkpoint', ['list', '--no-checkpoint']],
  ])('to its opening leaves no sync if it %s', async (_, [source, ...options]) => {
    const args = [source === 'list' ? list : '-', ...options];
    const cut = await cutAt(OPENING, args, ['SIGINT', 'SIGTERM']);
    expect(cut).toMatchObject({
      ...{ code: 130, stderr: expect.stringContaining('without a checkpoint the job cannot continue') },
    });
    expect(await set.describe()).not.toHaveProperty('sync');
  });

  it.each([
    ['a list', []],
    ['stdin', ['--checkpoint', 'checkpoint']],
  ])('to its commit starts over, and forgets URLs that were visited since: %s', async (_, options) => {
    const args = options.length === 0 ? [list] : ['-', '--checkpoint', join(folder, 'checkpoint')];
    await cutAt(COMMIT, args, ['SIGKILL']);
    await until('the sync is committed', async () => !('sync' in (await set.describe())));
    expect(await set.check(OTHERS)).toEqual(['unseen']);
    await set.visit(OTHERS);
    const ended = await runCommand(['sync', set.name, ...args], {
      env: env(),
      input: `${LISTED.join('\n')}\n`,
    });
    expect(ended).toMatchObject({
      ...forgotten,
      stderr: expect.stringMatching(/starting over: an earlier call committed sync \w+\n$/),
    });
    expect(await set.check([...LISTED, ...OTHERS])).toEqual(['seen', 'seen', 'unseen']);
  });

  it('to its commit reports, if interrupted, that the service continues the commit', async () => {
    expect(await cutAt(COMMIT, [list], ['SIGINT'])).toMatchObject({
      ...{ code: 130, stderr: expect.stringContaining('interrupted during the commit') },
    });
    await until('the sync is committed', async () => !('sync' in (await set.describe())));
    expect(await set.check([...LISTED, ...OTHERS])).toEqual(['seen', 'seen', 'unseen']);
  });

  it('of stdin, and was abandoned in the meantime, starts over before it reads stdin', async () => {
    const args = ['-', '--checkpoint', join(folder, 'checkpoint')];
    await cutAt({ ...COMMIT, hold: 'request' }, args, ['SIGKILL']);
    expect(await runCommand(['sync', set.name, '--abandon'], { env: env() })).toMatchObject({ code: 0 });
    const ended = await runCommand(['sync', set.name, ...args], {
      env: env(),
      input: `${LISTED.join('\n')}\n`,
    });
    expect(ended).toMatchObject({
      ...forgotten,
      stderr: expect.stringContaining('starting over: the sync of this job has ended'),
    });
  });

  it('leaves no checkpoint if its opening was refused', async () => {
    await set.syncs.open();
    expect(await sync(list)).toMatchObject({ code: 4, stderr: expect.stringContaining('SYNC_EXISTS') });
    expect(await checkpoints()).toEqual([]);
    expect(await set.describe()).toHaveProperty('sync');
  });
});
