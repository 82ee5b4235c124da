import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UnseenClient } from '#client';
import { STORES } from '../e2e/stores.js';
import { freshName, type TestApp } from '../support/app.js';
import { runCommand, startCommand } from '../support/command-line.js';
import type { Ended } from '../support/service-process.js';
import { until } from '../support/until.js';

const INTERRUPTED = 130;
const urls = (count: number): string =>
  Array.from({ length: count }, (_, n) => `https://a.example/${n}\n`).join('');

describe.each(STORES)('the command line and hosts, $name store', ({ start }) => {
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

  const env = () => ({ UNSEEN_URL: app.url, HOME: folder });
  const unseen = (args: readonly string[], input = ''): Promise<Ended> =>
    runCommand(args, { env: env(), input });

  it('creates a set with limits for each host, and counts URLs beyond them', async () => {
    const name = freshName('set');
    const limits = ['--per-host-delay', '2s', '--per-host-leased', '1', '--per-host-urls', '2'];
    expect(await unseen(['create', name, '--capacity', '1000', ...limits])).toMatchObject({ code: 0 });
    expect(await client.visitedSet(name).describe()).toMatchObject({
      perHost: { delaySeconds: 2, maxLeased: 1, maxUrls: 2 },
    });
    expect(await unseen(['discover', name], `${urls(5)}no URL\n`)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`discover ${name}: 2 new, 0 seen, 3 limited, 1 invalid (`),
    });
  });

  it('creates a set with perHost and no limits', async () => {
    const name = freshName('set');
    await unseen(['create', name, '--capacity', '1000', '--per-host']);
    expect(await client.visitedSet(name).describe()).toMatchObject({ perHost: {} });
    expect(await unseen(['discover', name], urls(5))).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('5 new, 0 seen, 0 limited, 0 invalid'),
    });
  });

  it('refuses limits for a filter’s hosts, and limits out of range', async () => {
    const filter = ['create', 'x', '--capacity', '5', '--type', 'counting', '--error-rate', '0.1'];
    expect(await unseen([...filter, '--per-host'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--per-host apply to visited sets only'),
    });
    expect(await unseen(['create', 'x', '--capacity', '5', '--per-host-delay', '0'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`'0' is invalid. It must be a whole number of seconds from 1 to 86400`),
    });
  });

  it('hosts lists the hosts, changes one, and drops one', async () => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 1_000, perHost: {} });
    await set.discover(['https://a.example/1', 'https://a.example/2', 'https://b.example/']);
    const listed = await unseen(['hosts', set.name]);
    expect(listed).toMatchObject({ code: 0 });
    const lines = listed.stdout.trim().split('\n').sort();
    expect(lines).toEqual([
      expect.stringMatching(
        /^a\.example {2}2 waiting {2}0 leased {2}0 delayed {2}0 scheduled {2}0 dead {2}next \S+Z$/,
      ),
      expect.stringMatching(/^b\.example {2}1 waiting {2}0 leased/),
    ]);
    const blocked = ['--delay', '1m', '--leased', '2', '--blocked-until', '2999-01-31T12:00:00Z'];
    expect(await unseen(['hosts', 'set', set.name, 'A.example', ...blocked, '--json'])).toMatchObject({
      code: 0,
    });
    const drop = ['hosts', 'drop', set.name, 'a.example'];
    expect(await unseen([...drop, '--dry-run'])).toMatchObject({
      stdout: `hosts drop ${set.name} a.example would drop 2 URLs; nothing was changed\n`,
    });
    expect(await set.hosts.get('a.example')).toMatchObject({
      ...{ waiting: 2, delaySeconds: 60, maxLeased: 2, blockedUntil: '2999-01-31T12:00:00.000Z' },
    });
    expect(await unseen(drop)).toMatchObject({
      code: 0,
      stdout: `hosts drop ${set.name} a.example: dropped 2 URLs from the queue, but not from the visited set\n`,
    });
    const json = (await unseen(['hosts', 'list', set.name, '--json'])).stdout.trim().split('\n');
    expect(json.map((line) => JSON.parse(line) as object)).toContainEqual(
      expect.objectContaining({ host: 'a.example', waiting: 0, maxLeased: 2 }),
    );
  });

  it('hosts set blocks a host for a time, and refuses a text that isn’t a time', async () => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 1_000, perHost: {} });
    const block = (time: string) => unseen(['hosts', 'set', set.name, 'a.example', '--blocked-until', time]);
    const began = Date.now();
    expect(await block('2h')).toMatchObject({ code: 0, stderr: '' });
    const ended = Date.now();
    const { blockedUntil = '' } = await set.hosts.get('a.example');
    const blockedAt = Date.parse(blockedUntil) - 7_200_000;
    expect(blockedAt).toBeGreaterThanOrEqual(began);
    expect(blockedAt).toBeLessThanOrEqual(ended);
    expect(await block('tomorrow')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        `'tomorrow' is invalid. It must be a time such as 2030-01-31T12:00:00Z, or`,
      ),
    });
    expect(await block('2030-02-31T12:00:00Z')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('is not a real date'),
    });
  });

  it('hosts refuses a set without hosts, and a text that is not a host', async () => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 1_000 });
    expect(await unseen(['hosts', set.name])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('was created without perHost'),
    });
    const polite = client.visitedSet(freshName('set'));
    await polite.create({ capacity: 1_000, perHost: {} });
    expect(await unseen(['hosts', 'drop', polite.name, 'https://a.example/'])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('(invalid host)'),
    });
  });

  it('work makes the whole host wait when a command asks for it', async () => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 1_000, perHost: {} });
    await set.discover(['https://a.example/1', 'https://a.example/2', 'https://b.example/']);
    const script = 'echo "$1"; case "$1" in */1) echo "Retry-After: 3600" >&2; exit 75;; esac; true';
    const args = ['work', set.name, '--exec', `sh -c '${script}' x`];
    const { child, ended } = await startCommand(args, { env: env() });
    await until('only the host that waits is left', async () => {
      const description = await set.describe();
      if (!('queue' in description)) throw new Error('the set has lost data');
      return description.queue.waiting === 2 && description.queue.leased === 0;
    });
    child.kill('SIGINT');
    expect(await ended).toMatchObject({
      code: INTERRUPTED,
      stdout: `https://a.example/1\nhttps://b.example/\nwork ${set.name}: 1 done, 1 failed\n`,
    });
  });
});
