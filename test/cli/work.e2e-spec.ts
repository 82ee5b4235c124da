import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UnseenClient, type VisitedSet } from '#client';
import { leasesWaiting } from '../e2e/leases-waiting.js';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { runCommand, startCommand, type RunningCommand } from '../support/command-line.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';

const URL_OF_TEST = 'https://example.org/1';
const INTERRUPTED = 130;

/** A limit that leaves the process one file descriptor: enough to reconnect, but not to start a command. */
async function roomForOne(pid: string): Promise<number> {
  const taken = new Set(await readdir(`/proc/${pid}/fd`));
  let limit = 0;
  for (let free = 0; free < 1; limit++) if (!taken.has(String(limit))) free++;
  return limit;
}

describe('unseen work', () => {
  let app: TestApp;
  let client: UnseenClient;
  let folder: string;
  beforeAll(async () => {
    app = await startApp();
    client = new UnseenClient({ url: app.url });
    folder = await mkdtemp(join(tmpdir(), 'unseen-work-'));
  });
  afterAll(async () => {
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  const env = () => ({ UNSEEN_URL: app.url, HOME: folder });
  /** Creates a set with one URL in its queue. */
  const made = async (maxAttempts?: number): Promise<VisitedSet> => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 1_000, ...(maxAttempts !== undefined && { maxAttempts }) });
    await set.discover(URL_OF_TEST);
    return set;
  };
  const queue = async (set: VisitedSet) => {
    const description = await set.describe();
    if (!('queue' in description)) throw new Error('the set has lost data');
    const { waiting, leased, delayed, dead } = description.queue;
    return { waiting, leased, delayed, dead };
  };
  const begin = (set: VisitedSet, script: string, ...more: string[]): Promise<RunningCommand> =>
    startCommand(['work', set.name, '--exec', `sh -c '${script}' x`, ...more], { env: env() });
  /** Two different signals. If the same signal is sent twice, the second may be lost. */
  const interruptTwice = async ({ child, ended }: RunningCommand) => {
    child.kill('SIGINT');
    child.kill('SIGTERM');
    return ended;
  };
  /** Sends only one signal. A second one would also limit the time for the worker's last calls, which may be slow. */
  const interrupt = async ({ child, ended }: RunningCommand) => {
    child.kill('SIGINT');
    return ended;
  };

  it.each([
    ['that ends', 'echo begun; exec sleep 600'],
    ['that does not want to end', 'trap "" TERM INT; echo begun; while :; do sleep 600; done'],
  ])('interrupted twice releases the URL of a command %s, and counts no attempt', async (_, script) => {
    const set = await made(1);
    const working = await begin(set, script);
    await until('the command runs', async () => working.stdout().includes('begun'));
    expect(await interruptTwice(working)).toMatchObject({
      code: INTERRUPTED,
      stdout: `begun\nwork ${set.name}: 0 done, 0 failed, 1 given back\n`,
    });
    expect(await queue(set)).toEqual({ waiting: 1, leased: 0, delayed: 0, dead: 0 });
    expect(await set.lease({ max: 1, leaseSeconds: 60 })).toMatchObject([{ attempt: 1 }]);
  });

  it('--until-empty ends despite a URL that always fails, which stays in the queue', async () => {
    const set = await made();
    const args = ['work', set.name, '--exec', 'false', '--until-empty', '--delay', '0', '--tries', '3'];
    expect(await runCommand(args, { env: env() })).toMatchObject({
      code: 1,
      stdout: `work ${set.name}: 0 done, 3 failed\n`,
    });
    expect(await queue(set)).toEqual({ waiting: 0, leased: 0, delayed: 1, dead: 0 });
  });

  it('--until-empty ends alongside another worker when URLs always fail', async () => {
    const set = await made();
    await set.discover([2, 3, 4].map((n) => `https://example.org/${n}`));
    const begun = await mkdtemp(join(folder, 'begun-'));
    const script = 'touch "$IN/$ME"; until [ -e "$IN/a" -a -e "$IN/b" ]; do sleep 0.02; done; exit 1';
    const args = ['work', set.name, '--exec', `sh -c '${script}' x`, '--until-empty', '--delay', '0'];
    const ended = await Promise.all(
      ['a', 'b'].map((ME) =>
        runCommand([...args, '--tries', '2', '--json'], { env: { ...env(), IN: begun, ME } }),
      ),
    );
    expect(ended).toMatchObject([{ code: 1 }, { code: 1 }]);
    const failed = ended.map(({ stdout }) => (JSON.parse(stdout) as { failed: number }).failed);
    expect(failed[0]! + failed[1]!).toBe(8);
    expect(await queue(set)).toEqual({ waiting: 0, leased: 0, delayed: 4, dead: 0 });
  });

  it('retries a URL when its command asks for it: exit status 75, and Retry-After on stderr', async () => {
    const set = await made();
    const script = '[ "$UNSEEN_ATTEMPT" = 1 ] || echo "retry-after: 3600" >&2; exit 75';
    const working = await begin(set, script, '--delay', '0');
    await until('the URL is delayed', async () => (await queue(set)).delayed === 1);
    expect(await interrupt(working)).toMatchObject({
      code: INTERRUPTED,
      stdout: `work ${set.name}: 0 done, 2 failed\n`,
    });
  });

  it('continues when no file descriptor is left for a command', async () => {
    const set = await made(1);
    const working = await begin(set, 'echo "$UNSEEN_ITEM"');
    await until('a command has run', async () => working.stdout().includes(URL_OF_TEST));
    // By then, the command's pipe is closed. Otherwise, its descriptor would be free for the next command.
    await until('the URL is acknowledged', async () => (await queue(set)).leased === 0);
    const pid = String(working.child.pid);
    execFileSync('prlimit', ['--pid', pid, `--nofile=${await roomForOne(pid)}:`]);
    await set.discover('https://example.org/2');
    const isOver = (): boolean => working.child.exitCode !== null;
    await until('a URL has failed', async () => isOver() || (await queue(set)).dead === 1);
    expect(isOver()).toBe(false);
    execFileSync('prlimit', ['--pid', pid, '--nofile=1024:']);
    await set.discover('https://example.org/3');
    await until('another command has run', async () => working.stdout().includes('https://example.org/3'));
    // Otherwise, the interruption might kill the command after its output.
    await until('its URL is acknowledged', async () => (await queue(set)).leased === 0);
    for await (const { url, reason } of set.deadLetters())
      expect([url, reason]).toEqual(['https://example.org/2', 'cannot run: spawn /bin/sh EMFILE']);
    expect((await interrupt(working)).stdout).toMatch(/: 2 done, 1 failed\n$/);
  });

  it('reports that it is retrying while the service is unavailable', async () => {
    const set = await made();
    const proxy = await TcpProxy.start(app.port);
    const host = `127.0.0.1:${proxy.port}`;
    const args = ['work', set.name, '--exec', 'echo'];
    const working = await startCommand(args, { env: { ...env(), UNSEEN_URL: `http://${host}` } });
    await until('the URL is done', async () => {
      const { waiting, leased } = await queue(set);
      return waiting + leased === 0;
    });
    // Once the command waits in its next call, it has the answer to its acknowledgement.
    await leasesWaiting(app, 1);
    await proxy.stop();
    // If that call began seconds ago, the command reports the closed connection before it makes another attempt.
    const why = `(?:connection refused by ${host}|http://${host} could not be reached: .*)`;
    await until('the command reports the retries', async () => working.stderr().includes('\n'));
    expect(await interrupt(working)).toMatchObject({
      code: INTERRUPTED,
      stderr: expect.stringMatching(`^unseen: retrying, ${why}\nunseen: interrupted\n$`),
    });
  });

  it('escapes the reason why it is retrying, and ends after one signal', async () => {
    const problem = { code: 'STORE_UNAVAILABLE', detail: 'gone\u001b[2J\u202e' };
    const server = createServer(({ url }, response) => {
      const isReady = url === '/readyz';
      response.writeHead(isReady ? 200 : 503, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isReady ? { status: 'ok' } : problem));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const listing = await startCommand(['list'], { env: { ...env(), UNSEEN_URL: url } });
    try {
      await until('the command reports the retries', async () => listing.stderr().includes('\n'));
      expect(listing.stderr()).toMatch(
        /^unseen: retrying, STORE_UNAVAILABLE: gone \[2J\\u202e \(GET [!-~]+\)\n$/,
      );
      expect(await interrupt(listing)).toMatchObject({ code: 130 });
    } finally {
      listing.child.kill('SIGKILL');
      server.close();
    }
  });

  it('retries a failed URL after a delay that doubles each time', async () => {
    const set = await made();
    for (let n = 0; n < 12; n++) {
      const [leased] = await set.lease({ max: 1, leaseSeconds: 60 });
      await set.release(leased!.id);
    }
    const working = await begin(set, 'exit 1');
    await until('the URL is delayed', async () => (await queue(set)).delayed === 1);
    expect((await interrupt(working)).stdout).toBe(`work ${set.name}: 0 done, 1 failed\n`);
  });
});
