import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UnseenClient } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { runCommand, startCommand, type RunningCommand } from '../support/command-line.js';
import { Random, SEED } from '../support/random.js';
import type { Ended } from '../support/service-process.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';

const urlAt = (i: number): string => `https://example.org/${i}`;
const urls = (count: number): string[] => Array.from({ length: count }, (_, i) => urlAt(i));
/** How often a job is killed or interrupted before it is left to finish. */
const ENDS = 12;
const INTERRUPTED = 130;

describe('a command-line job', () => {
  let app: TestApp;
  let proxy: TcpProxy;
  let client: UnseenClient;
  let folder: string;
  beforeAll(async () => {
    app = await startApp();
    proxy = await TcpProxy.start(app.port);
    client = new UnseenClient({ url: app.url });
    folder = await mkdtemp(join(tmpdir(), 'unseen-jobs-'));
  });
  afterAll(async () => {
    await proxy.stop();
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  const env = () => ({ UNSEEN_URL: `http://127.0.0.1:${proxy.port}`, HOME: folder });
  const begin = (args: readonly string[]): Promise<RunningCommand> => startCommand(args, { env: env() });
  const run = async (args: readonly string[]): Promise<Ended> => (await begin(args)).ended;
  /** Sends the signal once the command has received `bytes`, if it is still running. */
  const endAfter = async (
    { child }: RunningCommand,
    bytes: number,
    signal: NodeJS.Signals,
  ): Promise<void> => {
    const count = proxy.count();
    while (count().reply < bytes && child.exitCode === null) await sleep(1);
    child.kill(signal);
  };
  const checkpoints = () => readdir(join(folder, '.local', 'state', 'unseen'));
  const made = async () => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 100_000, errorRate: 1e-9 });
    return set;
  };
  const fileOf = async (lines: readonly string[]): Promise<string> => {
    const path = join(folder, freshName('list'));
    await writeFile(path, `${lines.join('\n')}\n`);
    return path;
  };

  it(`continues where it was killed or interrupted, without repeating or skipping anything (SEED=${SEED})`, async () => {
    const random = new Random(SEED);
    const lines = urls(30_000);
    // Every third line occurs twice in the list, far apart.
    const file = await fileOf([...lines, ...lines.filter((_, i) => i % 3 === 0)]);
    let [ends, kills] = [0, 0];
    // On a slow machine, a job may finish before the signal.
    for (let round = 0; round < ENDS && ends < ENDS; round++) {
      const set = await made();
      const args = ['visit', set.name, file, '--json'];
      let last: Ended | undefined;
      while (last === undefined) {
        // Cut the previous command's connections. Otherwise, a late answer to it would count as an answer to the next
        // command.
        proxy.interrupt();
        proxy.restore();
        const running = await begin(args);
        const signal = random.pick(['SIGKILL', 'SIGKILL', 'SIGINT', 'SIGTERM'] as const);
        // Signal in the middle of an answer, when the service has done a part of the job without the command knowing.
        if (ends < ENDS) await endAfter(running, random.below(15_000), signal);
        const ended = await running.ended;
        if (ended.code === 0) last = ended;
        else if (signal === 'SIGKILL') kills++;
        else {
          const said = /^(?:visit .* continuing after \d+ lines\n)?unseen: interrupted/;
          expect([ended.code, ended.stderr]).toEqual([INTERRUPTED, expect.stringMatching(said)]);
        }
        if (ended.code !== 0) ends++;
      }
      expect(JSON.parse(last.stdout)).toMatchObject({ counts: { new: 30_000, seen: 10_000, invalid: 0 } });
      expect(await set.describe()).toMatchObject({ added: 30_000, duplicate: 10_000, items: 30_000 });
      expect(await checkpoints()).toEqual([]);
      // A finished job starts from the beginning.
      expect(JSON.parse((await run(args)).stdout)).toMatchObject({ counts: { new: 0, seen: 40_000 } });
    }
    expect(ends).toBe(ENDS);
    expect(kills).toBeGreaterThan(0);
  });

  it('continues when connections are cut', async () => {
    const set = await made();
    const file = await fileOf(urls(20_000));
    const running = await begin(['visit', set.name, file]);
    for (let cuts = 0; cuts < 10 && running.child.exitCode === null; cuts++) {
      proxy.cutAfter('reply', 3_000);
      await until('the connection was cut', async () => running.child.exitCode !== null || proxy.hasCut);
    }
    proxy.disarm();
    expect(await running.ended).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('20,000 new, 0 seen'),
    });
    expect(await set.describe()).toMatchObject({ added: 20_000, duplicate: 0 });
  });

  it('of a sync also continues, and forgets unlisted URLs', async () => {
    const set = await made();
    await set.visit(urls(12_000));
    const file = await fileOf(urls(10_000));
    let last: Ended | undefined;
    for (let ends = 0; last === undefined; ends++) {
      const running = await begin(['sync', set.name, file, '--force']);
      if (ends < 3) await endAfter(running, 8_000, 'SIGKILL');
      const ended = await running.ended;
      if (ends === 3 || ended.code === 0) last = ended;
    }
    const stdout = expect.stringContaining('forgot 2,000 of 12,000 items; listed: 10,000 kept');
    expect(last).toMatchObject({ code: 0, stdout });
    expect(await set.check([urlAt(9_999), urlAt(10_000)])).toEqual(['seen', 'unseen']);
  });

  it('runs in one process at a time, for its own sources and set', async () => {
    const set = await made();
    const checkpoint = join(folder, freshName('checkpoint'));
    const args = (source: string) => ['visit', set.name, source, '--checkpoint', checkpoint];
    const visit = (input: readonly string[]): Promise<Ended> =>
      runCommand(args('-'), { env: env(), input: `${input.join('\n')}\n` });
    // A job that has done its first thousand lines and waits for more.
    const running = await startCommand(args('-'), { env: env(), stdin: 'pipe' });
    running.child.stdin?.write(`${urls(1_500).join('\n')}\n`);
    await until('the first block is done', async () => {
      const description = await set.describe();
      return 'items' in description && description.items >= 1_000;
    });
    const stderr = (text: string) => ({ code: 2, stdout: '', stderr: expect.stringContaining(text) });
    expect(await visit([])).toEqual(stderr('another process is running this job'));
    running.child.kill('SIGKILL');
    await running.ended;
    expect(await run(args(await fileOf(urls(10))))).toEqual(stderr('is a checkpoint for a different job'));
    // Stdin is read once, so the next call starts from the beginning.
    expect(await visit(urls(1_500).reverse())).toEqual(
      stderr('stdin cannot be read twice; run the command again to start over'),
    );
    expect(await visit(urls(1_500).reverse())).toMatchObject({
      ...{ code: 0, stdout: expect.stringMatching(/: \d+ new, 1,\d\d\d seen/) },
    });
    await writeFile(checkpoint, 'a file of somebody else');
    expect(await visit(urls(1))).toEqual(stderr('is not a checkpoint'));
  });

  it('on a queue that is interrupted finishes the URLs in progress, and leaves nothing leased', async () => {
    const set = await made();
    await set.discover(urls(20));
    const script = 'echo "$1" >> "$OUT"; while [ ! -e "$GO" ]; do sleep 0.02; done';
    const [out, go] = [join(folder, freshName('out')), join(folder, freshName('go'))];
    const running = await startCommand(
      ['work', set.name, '--exec', `sh -c '${script}' x`, '--parallel', '3', '--lease', '600'],
      { env: { ...env(), OUT: out, GO: go } },
    );
    const queue = async () => {
      const description = await set.describe();
      return 'queue' in description ? description.queue : undefined;
    };
    // Wait for the lease's answer. Without it, an interrupted command would give the URLs back.
    await until('three URLs are in progress', async () => {
      const begun = await readFile(out, 'utf8').catch(() => '');
      return begun.split('\n').length === 4;
    });
    running.child.kill('SIGINT');
    // Longer than other commands wait for pending requests after an interruption.
    await sleep(6_500);
    expect(running.child.exitCode).toBeNull();
    await writeFile(go, '');
    expect(await running.ended).toMatchObject({
      code: INTERRUPTED,
      stdout: expect.stringContaining('3 done, 0 failed'),
    });
    expect(await queue()).toMatchObject({ waiting: 17, leased: 0 });
  });

  it('on a queue that is interrupted twice stops the commands in progress, and releases their URLs', async () => {
    const set = await made();
    await set.discover(urls(5));
    const running = await begin([
      'work',
      set.name,
      '--exec',
      'sleep 600; :',
      '--parallel',
      '2',
      '--lease',
      '600',
    ]);
    const queue = async () => {
      const description = await set.describe();
      return 'queue' in description ? description.queue : undefined;
    };
    await until('two URLs are leased', async () => (await queue())?.leased === 2);
    running.child.kill('SIGINT');
    running.child.kill('SIGTERM');
    expect((await running.ended).code).toBe(INTERRUPTED);
    expect(await queue()).toMatchObject({ waiting: 5, leased: 0 });
  });
});
