import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { UnseenClient } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { runCommand, startCommand } from '../support/command-line.js';
import { freePort, startRedis, type RedisServer } from '../support/redis-server.js';
import type { Ended } from '../support/service-process.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';

const urlAt = (i: number): string => `https://example.org/${i}`;
const fingerprintAt = (i: number): string => i.toString(16).padStart(40, '0');
const listOf = (count: number, at: (i: number) => string): string[] =>
  Array.from({ length: count }, (_, i) => at(i));
const MANY = 40_000;

describe('import-set', () => {
  let app: TestApp;
  let client: UnseenClient;
  let source: RedisServer;
  let redis: Redis;
  beforeAll(async () => {
    app = await startApp();
    client = new UnseenClient({ url: app.url });
    source = await startRedis();
    redis = new Redis(source.url);
  });
  afterAll(async () => {
    redis.disconnect();
    await source.stop();
    await app.close();
  });

  const importing = (name: string, key: string, url = source.url): string[] => {
    return ['import-set', name, '--redis', url, '--key', key];
  };
  const env = (): Record<string, string> => ({ UNSEEN_URL: app.url });
  const unseen = (args: readonly string[]): Promise<Ended> => runCommand(args, { env: env() });
  const setOf = async (members: readonly (string | Buffer)[]): Promise<string> => {
    const key = freshName('their');
    for (let i = 0; i < members.length; i += 1_000) await redis.sadd(key, ...members.slice(i, i + 1_000));
    return key;
  };
  const visitedSet = async (capacity = 300_000): Promise<string> => {
    const name = freshName('set');
    await client.visitedSet(name).create({ capacity, errorRate: 1e-9 });
    return name;
  };
  const unseenOf = async (name: string, urls: readonly string[]): Promise<number> =>
    (await client.visitedSet(name).check(urls)).filter((result) => result !== 'seen').length;

  it('visits all URLs in the Redis set during a crawl, and the rest in a second call', async () => {
    const key = await setOf(listOf(MANY, urlAt));
    const name = await visitedSet();
    const command = await startCommand(importing(name, key), { env: env() });
    let written = MANY;
    const crawl = (async () => {
      for (let i = 0; i < 10_000 && command.child.exitCode === null; i++) {
        await redis.sadd(key, ...listOf(20, (j) => urlAt(written + j)));
        written += 20;
        await sleep(1);
      }
    })();
    const first = await command.ended;
    await crawl;
    expect(first).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/were added during the import: run it again/),
    });
    expect(await unseenOf(name, listOf(MANY, urlAt))).toBe(0);
    expect(await unseen(importing(name, key))).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^import-set .*: [\d,]+ new, [\d,]+ seen, 0 invalid \([^)]+\)\n$/),
    });
    expect(await unseenOf(name, listOf(written, urlAt))).toBe(0);
    expect(await client.visitedSet(name).describe()).toMatchObject({ items: written });
  });

  it('adds each fingerprint to a counting filter once, even if it runs again', async () => {
    const key = await setOf(listOf(5_000, fingerprintAt));
    const filter = client.filter(freshName());
    await filter.create({ type: 'counting', capacity: 10_000, errorRate: 1e-9 });
    expect(await unseen(importing(filter.name, key))).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(`^import-set ${filter.name}: 5,000 new, \\d+ seen \\(`),
    });
    const again = await unseen([...importing(filter.name, key), '--json']);
    expect(JSON.parse(again.stdout)).toMatchObject({ counts: { new: 0, refused: 0 }, grown: 0 });
    expect(await filter.describe()).toMatchObject({ items: 5_000 });
    expect(await filter.remove(listOf(5_000, fingerprintAt))).toEqual(Array(5_000).fill('removed'));
    expect(await filter.describe()).toMatchObject({ items: 0 });
  });

  it('continues in another call after it is killed', async () => {
    const key = await setOf(listOf(MANY, urlAt));
    const name = await visitedSet();
    const { child, ended } = await startCommand(importing(name, key), { env: env() });
    await until('some members are added', async () => {
      const description = await client.visitedSet(name).describe();
      return 'items' in description && description.items > 0;
    });
    child.kill('SIGKILL');
    await ended;
    expect(await unseen(importing(name, key))).toMatchObject({ code: 0 });
    expect(await client.visitedSet(name).describe()).toMatchObject({ items: MANY });
  });

  it('continues when connections to Redis break', async () => {
    const key = await setOf(listOf(MANY, urlAt));
    const name = await visitedSet();
    const proxy = await TcpProxy.start(source.port);
    try {
      const command = await startCommand(importing(name, key, `redis://127.0.0.1:${proxy.port}`), {
        env: env(),
      });
      for (let cut = 1; cut <= 5; cut++) {
        proxy.cutAfter('reply', cut * 20_000);
        await until('the connections are cut', async () => proxy.hasCut || command.child.exitCode !== null);
      }
      expect(await command.ended).toMatchObject({ code: 0, stderr: '' });
    } finally {
      await proxy.stop();
    }
    expect(await client.visitedSet(name).describe()).toMatchObject({ items: MANY });
  });

  it('names members that it refuses, and visits all others', async () => {
    const key = await setOf([urlAt(1), 'no URL', Buffer.from([0xff, 0xfe]), urlAt(2)]);
    const name = await visitedSet();
    const { code, stdout, stderr } = await unseen(importing(name, key));
    expect(code).toBe(1);
    expect(stdout).toMatch(`import-set ${name}: 2 new, 0 seen, 1 invalid, 1 refused`);
    expect(stderr).toMatch('"no URL"');
    expect(stderr).toMatch('is not valid UTF-8');
  });

  it('reports wrong arguments, and changes nothing', async () => {
    const name = await visitedSet();
    const key = await setOf([urlAt(1)]);
    await redis.lpush('a-list', 'x');
    const multiset = client.filter(freshName());
    await multiset.create({ type: 'counting', capacity: 100, errorRate: 0.01, semantics: 'multiset' });
    const locked = `redis://nobody:secret@127.0.0.1:${source.port}`;
    const nobody = `redis://127.0.0.1:${await freePort()}`;
    for (const [args, code, says] of [
      [importing(name, 'missing'), 2, 'Redis has no key "missing"'],
      [importing(name, 'a-list'), 2, 'the Redis key "a-list" is a list, not a set'],
      [importing('missing', key), 4, 'no visited set or filter is called "missing"'],
      [importing(multiset.name, key), 2, 'is a multiset'],
      [importing(name, key, 'http://127.0.0.1'), 2, '--redis must be a URL such as redis://127.0.0.1:6379/0'],
      [importing(name, key, locked), 4, 'Redis refused: WRONGPASS'],
      [importing(name, key, nobody), 3, 'cannot read from Redis: connect ECONNREFUSED 127.0.0.1:'],
      [['import-set', name], 2, "required option '--redis <url>' not specified"],
    ] as const) {
      const ended = await unseen(args);
      expect([says, ended.code]).toEqual([says, code]);
      expect(ended.stderr).toMatch(says);
      expect(ended.stderr).not.toMatch('secret');
    }
    expect(await client.visitedSet(name).describe()).toMatchObject({ items: 0 });
  });
});
