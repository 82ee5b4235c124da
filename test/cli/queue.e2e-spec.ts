import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UnseenClient, type VisitedSet } from '#client';
import { STORES } from '../e2e/stores.js';
import { freshName, type TestApp } from '../support/app.js';
import { runCommand } from '../support/command-line.js';
import type { Ended } from '../support/service-process.js';

const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;

describe.each(STORES)('the command line and the queue, $name store', ({ start }) => {
  let app: TestApp;
  let client: UnseenClient;
  let folder: string;
  let set: VisitedSet;
  beforeAll(async () => {
    app = await start();
    client = new UnseenClient({ url: app.url });
    folder = await mkdtemp(join(tmpdir(), 'unseen-cli-'));
    set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 1_000, perHost: {}, maxAttempts: 1 });
    await set.discover(['https://a.example/old/1', 'https://a.example/old/2', 'https://b.example/']);
    const [one] = await set.lease({ max: 1, leaseSeconds: 60 });
    await set.release(one?.id ?? '', { reason: 'HTTP 410' });
  });
  afterAll(async () => {
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  const queue = (...args: string[]): Promise<Ended> =>
    runCommand(['queue', ...args], { env: { UNSEEN_URL: app.url, HOME: folder } });
  const lines = ({ stdout }: Ended): string[] => stdout.trim().split('\n').sort();

  it('lists the URLs with their states', async () => {
    const listed = await queue('list', set.name);
    expect(listed).toMatchObject({ code: 0 });
    expect(lines(listed)).toEqual([
      expect.stringMatching(
        `^https://a\\.example/old/1  dead  leased 1 times  queued ${TIME}  host a\\.example  reason: HTTP 410$`,
      ),
      expect.stringMatching(
        `^https://a\\.example/old/2  waiting  leased 0 times  queued ${TIME}  host a\\.example$`,
      ),
      expect.stringMatching(/^https:\/\/b\.example\/ {2}waiting /),
    ]);
  });

  it('lists when URLs come back', async () => {
    const later = client.visitedSet(freshName('set'));
    await later.create({ capacity: 1_000 });
    await later.discover(['https://a.example/1', 'https://a.example/2'], { delaySeconds: 3_600 });
    await later.discover('https://a.example/3');
    await later.lease({ max: 1, leaseSeconds: 60 });
    expect(lines(await queue('list', later.name))).toEqual([
      expect.stringMatching(`^https://a\\.example/1  scheduled  leased 0 times  due ${TIME}$`),
      expect.stringMatching(`^https://a\\.example/2  scheduled  leased 0 times  due ${TIME}$`),
      expect.stringMatching(`^https://a\\.example/3  leased  leased 1 times  queued ${TIME}  due ${TIME}$`),
    ]);
  });

  it('lists a part of them, as text or as JSON', async () => {
    expect(lines(await queue('list', set.name, '--state', 'dead'))).toEqual([
      expect.stringMatching(/^https:\/\/a\.example\/old\/1 /),
    ]);
    expect(lines(await queue(set.name, '--host', 'a.example', '--limit', '1'))).toHaveLength(1);
    const json = lines(await queue('list', set.name, '--prefix', 'https://b', '--json'));
    expect(json.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ url: 'https://b.example/', state: 'waiting', host: 'b.example' }),
    ]);
    expect(await queue('list', set.name, '--limit', '1', '--quiet')).toMatchObject({ code: 0, stdout: '' });
  });

  it('drops URLs after a dry run, and forgets them if asked to', async () => {
    const drop = ['drop', set.name, '--prefix', 'https://a.example/old/'];
    expect(await queue(...drop, '--dry-run')).toMatchObject({
      code: 0,
      stdout: `queue drop ${set.name} would drop 2 URLs; nothing was changed\n`,
    });
    expect(await queue(...drop, '--state', 'dead')).toMatchObject({
      stdout: `queue drop ${set.name}: dropped 1 URL from the queue, but not from the visited set\n`,
    });
    expect(await queue(...drop, '--forget', '--json')).toMatchObject({
      code: 0,
      stdout: `${JSON.stringify({ verb: 'queue drop', name: set.name, matched: 1, dropped: 1, forgotten: 1 })}\n`,
    });
    expect(await set.check(['https://a.example/old/1', 'https://a.example/old/2'])).toEqual([
      'seen',
      'unseen',
    ]);
    expect(await queue('drop', set.name, '--all', '--forget')).toMatchObject({
      stdout: `queue drop ${set.name}: dropped 1 URL from the queue, and forgot 1\n`,
    });
  });

  it('refuses to drop without a selection, and reports errors from the service', async () => {
    expect(await queue('drop', set.name)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('needs --state, --host or --prefix, or --all for the whole queue'),
    });
    const both = await queue('drop', set.name, '--all', '--state', 'dead');
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('--all') });
    expect(both.stderr).toContain('--state');
    expect(await queue('list', set.name, '--state', 'away')).toMatchObject({ code: 2 });
    expect(await queue('list', set.name, '--prefix', 'a.example')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('prefix must begin with http: or https:'),
    });
    const filter = client.filter(freshName('filter'));
    await filter.create({ type: 'counting', capacity: 10, errorRate: 0.01 });
    expect(await queue('drop', filter.name, '--all')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('queue drop works on visited sets only'),
    });
  });
});
