import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { startApp, type TestApp } from '../support/app.js';
import { documentedCalls, promised } from '../support/documented-calls.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { serviceProgram } from '../support/service-program.js';

const run = promisify(execFile);
const FOLDER = join('docs', 'guides');
const GUIDES = readdirSync(FOLDER).map((file) => ({ file, calls: documentedCalls(join(FOLDER, file)) }));
/** The URLs that readers of the guides already have in Redis. */
const SEEN = ['a', 'b', 'c'].map((page) => `https://example.org/${page}`);

describe('the guides', () => {
  it('cover the systems that users migrate from', () => {
    const files = GUIDES.filter(({ calls }) => calls.length > 0).map(({ file }) => file);
    expect(files.sort()).toEqual([
      'cms.md',
      'redis-set.md',
      'redisbloom.md',
      'scrapy-redis.md',
      'workers.md',
    ]);
  });

  describe.each(GUIDES.filter(({ calls }) => calls.length > 0))('docs/guides/$file', ({ calls }) => {
    let app: TestApp;
    let redis: RedisServer;
    let home: string;
    let program: string;
    /** The last id in an answer, which a reader would put into the variable. */
    let id = '';
    beforeAll(async () => {
      app = await startApp();
      redis = await startRedis();
      home = await mkdtemp(join(tmpdir(), 'unseen-home-'));
      program = join(await serviceProgram(), 'cli', 'unseen.js');
      const theirs = new Redis(redis.url);
      await theirs.sadd('seen', SEEN);
      await theirs.sadd(
        'myspider:dupefilter',
        SEEN.map((url) => createHash('sha1').update(url).digest('hex')),
      );
      theirs.disconnect();
    });
    afterAll(async () => {
      await app.close();
      await redis.stop();
      await rm(home, { recursive: true, force: true });
    });

    // The commands run in page order, because each builds on those before it.
    it.each(calls)('works as pasted: $command', async ({ command, answer = '' }) => {
      const here = command
        .replaceAll('npx unseen', `"${process.execPath}" "${program}"`)
        .replaceAll('http://127.0.0.1:3000', app.url)
        .replaceAll('redis://127.0.0.1:6379', redis.url);
      const env = { PATH: process.env.PATH, HOME: home, UNSEEN_URL: app.url, ID: id };
      const { stdout } = await run('bash', ['-c', here], { timeout: 240_000, env });
      expect(stdout.trimEnd()).toMatch(promised(answer));
      id = /"id":"([^"]+)"/.exec(stdout)?.[1] ?? id;
    });
  });
});
