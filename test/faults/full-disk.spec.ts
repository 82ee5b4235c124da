import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { runCommand } from '../support/command-line.js';
import { startProcess, type ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';
import { statusOf } from '../support/status-of.js';
import { insist, Load, post, send, type Reply } from './load.js';

const running: ServiceProcess[] = [];
const start = async (env: Record<string, string>, fileBlocks?: number): Promise<ServiceProcess> => {
  const service = await startProcess(env, fileBlocks === undefined ? undefined : { fileBlocks });
  running.push(service);
  return service;
};
afterEach(async () => {
  for (const service of running.splice(0)) await service.clean();
});

/** 1 MiB: room for a start and a hundred batches. */
const FILE_BLOCKS = 2_048;
const MOST_BATCHES = 20_000;
const TURNS = 30;
/** These tests need `prlimit`. */
const inLinux = process.platform === 'linux' ? it : it.skip;

const items = (batch: number) => Array.from({ length: 200 }, (_, i) => `item ${batch} ${i}`);
const add = (batch: number) => post('/v1/filters/f/items/add', { items: items(batch) }, `add-${batch}`);
const codeOf = (reply: Reply | undefined) => (reply?.body as { code?: string } | undefined)?.code;

/** Adds batches until one is refused, and returns that batch's number. */
async function fill(url: string): Promise<{ refused: number; reply: Reply | undefined }> {
  for (let batch = 0; batch < MOST_BATCHES; batch++) {
    const reply = await send(url, add(batch));
    if (reply?.status !== 200) return { refused: batch, reply };
  }
  throw new Error(`${MOST_BATCHES} batches fit`);
}

describe('a full disk under the embedded store (simulated by a limit on file sizes)', () => {
  it('is 507 for calls that need space; reads succeed, removals succeed or are 503, and with space again all data is there', async () => {
    const limited = await start({}, FILE_BLOCKS);
    const url = await limited.url();
    await Load.makeFilter(url, 'f', 1_000_000);
    const { refused, reply } = await fill(url);
    expect([reply?.status, codeOf(reply)]).toEqual([507, 'STORE_FULL']);
    expect(refused).toBeGreaterThan(3);
    expect(await statusOf(`${url}/readyz`)).toBe(503);

    const tallies = { refused: 0, removed: 0, notRemoved: 0 };
    const removed = new Set<number>();
    for (let turn = 0; turn < TURNS; turn++) {
      const [batch, other] = [turn % refused, refused + turn];
      const growing = await send(url, add(other));
      expect([507, 503]).toContain(growing?.status);
      tallies.refused++;
      const removal = await send(
        url,
        post('/v1/filters/f/items/remove', { items: [`item ${batch} 0`] }, `remove-${turn}`),
      );
      if (removal?.status === 200) removed.add(batch);
      else tallies.notRemoved++;
      const { body } = await insist(url, post('/v1/filters/f/items/check', { items: items(batch) }));
      const present = items(batch).map((_, i) => i > 0 || !removed.has(batch));
      expect([turn, body]).toEqual([turn, { results: present }]);
    }
    tallies.removed = removed.size;
    limited.child.kill('SIGKILL');
    await limited.exit();

    const roomy = await start({ DATA_DIR: limited.dataDir });
    const again = await roomy.url();
    for (let batch = 0; batch < refused; batch++) {
      const { body } = await insist(again, post('/v1/filters/f/items/count', { items: items(batch) }));
      const counts = items(batch).map((_, i) => (i === 0 && removed.has(batch) ? 0 : 1));
      expect([batch, body]).toEqual([batch, { results: counts }]);
    }
    for (let batch = refused; batch < refused + 3; batch++) {
      expect((await insist(again, add(batch))).body).toEqual({ results: items(batch).map(() => true) });
    }
    console.log(
      `full after ${refused} batches of 200; then ${JSON.stringify(tallies)} of ${TURNS} each; reads: all`,
    );
  });
});

describe('the command line of a service with a full disk', () => {
  it('reads, and reports STORE_FULL for a change', async () => {
    const service = await start({}, FILE_BLOCKS);
    const url = await service.url();
    await Load.makeFilter(url, 'f', 1_000_000);
    await fill(url);
    expect(await statusOf(`${url}/readyz`)).toBe(503);
    const unseen = (args: readonly string[], input: string) =>
      runCommand(args, { env: { UNSEEN_URL: url }, input });
    expect(await unseen(['check', 'f', '--seen'], 'item 0 0\nnone\n')).toEqual({
      ...{ code: 0, stdout: 'item 0 0\n', stderr: '' },
    });
    const more = Array.from({ length: 1_000 }, (_, i) => `more ${i}`).join('\n');
    expect(await unseen(['add', 'f'], more)).toMatchObject({
      ...{ code: 4, stderr: expect.stringMatching(/STORE_FULL: the store is full/) },
    });
  });
});

describe('a disk that has room again', () => {
  inLinux('is written to again, and the service ready, without a restart', async () => {
    const service = await start({}, FILE_BLOCKS);
    const url = await service.url();
    await Load.makeFilter(url, 'f', 1_000_000);
    const { refused } = await fill(url);
    expect((await fetch(`${url}/readyz`)).status).toBe(503);

    execFileSync('prlimit', ['--pid', String(service.child.pid), '--fsize=unlimited:']);
    await until('the service is ready', async () => (await fetch(`${url}/readyz`)).ok);
    expect((await insist(url, add(refused))).body).toEqual({ results: items(refused).map(() => true) });
    const { body } = await insist(url, post('/v1/filters/f/items/check', { items: items(0) }));
    expect(body).toEqual({ results: items(0).map(() => true) });
  });
});

describe('a data directory', () => {
  it.each([0, 8, 64, 512])(
    'that is new, with room for %i blocks per file, is refused with a clear message',
    async (blocks) => {
      const service = await start({}, blocks);
      expect(await service.exit()).toBe(1);
      expect(service.stderr()).toMatch(/^Unseen cannot start: DATA_DIR "[^"\n]+" cannot be used: .*\n$/);
    },
  );

  it('that another process owns is refused with a message that says so, and free once that process is killed', async () => {
    const first = await start({});
    await first.url();
    const rivals = await Promise.all([1, 2].map(() => start({ DATA_DIR: first.dataDir })));
    for (const rival of rivals) {
      expect(await rival.exit()).toBe(1);
      expect(rival.stderr()).toMatch(
        /^Unseen cannot start: DATA_DIR "[^"\n]+" cannot be used: .* in use by another/,
      );
    }
    // An operator mistakes the lock file for a stale one and deletes it.
    await rm(join(first.dataDir, 'lock'));
    const later = await start({ DATA_DIR: first.dataDir });
    expect(await later.exit()).toBe(1);
    expect(later.stderr()).toContain('in use by another');
    expect((await fetch(`${await first.url()}/readyz`)).ok).toBe(true);
    first.child.kill('SIGKILL');
    await first.exit();
    // If several processes start at the same time, one gets the directory.
    const heirs = await Promise.all([1, 2, 3].map(() => start({ DATA_DIR: first.dataDir })));
    const started = await Promise.allSettled(heirs.map((heir) => heir.url()));
    expect(started.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('that can’t be created, on a file system without directories, is refused immediately', async () => {
    const service = await start({ DATA_DIR: '/proc/unseen/data' });
    expect(await service.exit()).toBe(1);
    expect(service.stderr()).toMatch(
      /^Unseen cannot start: DATA_DIR "\/proc\/unseen\/data" cannot be used: .*\n$/,
    );
  });
});
