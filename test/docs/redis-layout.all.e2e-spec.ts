import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type TestApp } from '../support/app.js';
import { documentedCalls, promised } from '../support/documented-calls.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

const run = promisify(execFile);
const PAGE = 'docs/redis-layout.md';

describe(PAGE, () => {
  let redis: RedisServer;
  let app: TestApp;
  /** Variables that a reader would set from the explanation. */
  let env: Record<string, string> = {};
  beforeAll(async () => {
    redis = await startRedis();
    app = await startApp({ REDIS_URL: redis.url });
  });
  afterAll(async () => {
    await app.close();
    await redis.stop();
  });

  const shell = async (command: string): Promise<string> => {
    const here = command
      .replaceAll('http://127.0.0.1:3000', app.url)
      .replaceAll('redis://127.0.0.1:6379', redis.url);
    const { stdout } = await run('bash', ['-c', here], {
      ...{ timeout: 240_000, env: { ...process.env, ...env } },
    });
    return stdout.trimEnd();
  };

  // The commands run in page order, because each builds on those before it.
  it.each(documentedCalls(PAGE))('works as pasted: $command', async ({ command, answer = '' }) => {
    const stdout = await shell(command);
    const expected = promised(answer);
    expect(stdout).toMatch(new RegExp(expected.source, 's'));
    const [, key] = /"redisKey":"([^"]+)"/.exec(stdout) ?? [];
    const [, index] = /"index":(\d+)/.exec(stdout) ?? [];
    if (key !== undefined && index !== undefined) env = { KEY: key, INDEX: index };
  });

  it('has commands that read Redis with an explanation’s values', () => {
    expect(env).toEqual({ KEY: expect.stringMatching(/^unseen:\{.*\}:cells$/), INDEX: expect.any(String) });
    expect(documentedCalls(PAGE).filter(({ command }) => command.startsWith('redis-cli')).length).toBe(4);
  });

  it("names the members in the catalogue and in a segment's meta", async () => {
    const cli = `redis-cli -u ${redis.url}`;
    const entry = JSON.parse(await shell(`${cli} HGET unseen:{catalogue}:filters pages`)) as object;
    expect(Object.keys(entry)).toEqual(expect.arrayContaining(['tags', 'geometry', 'seed', 'state']));
    const meta = await shell(`${cli} HKEYS "\${KEY%:cells}:meta"`);
    expect(meta.split('\n')).toEqual(expect.arrayContaining(['generation', 'items', 'nonzero', 'saturated']));
  });

  it('has a user that can read cells and not change them', async () => {
    const [, rule = ''] = /^ {4}user reader (.*)$/m.exec(readFileSync(PAGE, 'utf8')) ?? [];
    const cli = `redis-cli -u ${redis.url}`;
    await shell(
      `${cli} ACL SETUSER reader ${rule
        .split(' ')
        .map((word) => `'${word}'`)
        .join(' ')}`,
    );
    const reader = `${cli.replace('redis://', 'redis://reader:a-password@')} --no-auth-warning`;
    expect(await shell(`${reader} BITFIELD_RO "$KEY" GET u4 "#$INDEX"`)).toBe('2');
    expect(await shell(`${reader} HGET "\${KEY%:cells}:meta" items`)).toBe('1');
    for (const forbidden of [
      ...[
        'BITFIELD "$KEY" SET u4 "#$INDEX" 0',
        'SETRANGE "$KEY" 0 x',
        'HGET unseen:{catalogue}:filters pages',
      ],
      ...['UNLINK "$KEY"', 'HSET "${KEY%:cells}:meta" items 0'],
    ]) {
      expect(await shell(`${reader} ${forbidden} 2>&1`)).toContain('NOPERM');
    }
  });
});
