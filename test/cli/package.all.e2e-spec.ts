import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '../support/until.js';
import { freePort } from '../support/redis-server.js';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { assertBuilt } from '../../scripts/built.mjs';

assertBuilt();

const run = promisify(execFile);

it('npx unseen runs the built program of the checkout, even on the first call', async () => {
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
  const { mtimeMs } = await stat('dist/service/main.js');
  // With an empty cache, every call is the first one.
  const cache = await mkdtemp(join(tmpdir(), 'unseen-npx-'));
  try {
    const env = { ...process.env, npm_config_cache: cache };
    const { stdout } = await run('npx', ['--no-install', 'unseen', '--version'], { env });
    expect(stdout).toBe(`${version}\n`);
    expect(await stat('dist/service/main.js')).toMatchObject({ mtimeMs });
  } finally {
    await rm(cache, { recursive: true, force: true });
  }
});

/** The built package: `npm run build` runs before the tests. */
describe('the package, installed in an empty folder', () => {
  let folder: string;
  let unseen: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'unseen-installed-'));
    // Skips the package's own build, which would remove files that other tests use.
    const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
    const { stdout } = await run('npm', pack, { maxBuffer: 2 ** 26 });
    const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
    await writeFile(join(folder, 'package.json'), '{ "name": "user", "private": true }');
    const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', '--omit=dev'];
    await run('npm', ['install', ...quiet, resolve(folder, filename)], { cwd: folder, maxBuffer: 2 ** 26 });
    unseen = join(folder, 'node_modules', '.bin', 'unseen');
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('serves, and is used, by one command', async () => {
    const port = await freePort();
    const env = { PATH: process.env.PATH, HOME: folder, UNSEEN_URL: `http://127.0.0.1:${port}` };
    const data = join(folder, 'data');
    const settings = { ...env, PORT: String(port), DATA_DIR: data, LOG_LEVEL: 'warn' };
    const keys = await run(unseen, ['keys', '--offline', 'create', '--name', 'ops', '--scope', 'admin'], {
      ...{ cwd: folder, env: { ...settings, AUTH: 'keys' } },
    });
    const key = keys.stdout.trim();
    expect(key).toMatch(/^unseen_[0-9a-f]{16}_[\w-]{43}$/);
    const service = spawn(unseen, ['serve'], {
      cwd: folder,
      env: settings,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      let said = '';
      service.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
      await until('the service listens', async () =>
        said.includes(`is listening on http://127.0.0.1:${port}`),
      );
      const call = (args: string[], more = {}) =>
        run(unseen, args, { cwd: folder, env: { ...env, ...more } });
      await expect(call(['create', 'crawl', '--capacity', '1000'])).rejects.toMatchObject({
        ...{ code: 4, stderr: expect.stringContaining('UNAUTHENTICATED') },
      });
      const UNSEEN_API_KEY = key;
      expect(await call(['create', 'crawl', '--capacity', '1000'], { UNSEEN_API_KEY })).toMatchObject({
        stdout: expect.stringContaining('visited set crawl'),
      });
      const made = await call(['keys', 'create', '--name', 'reader', '--scope', 'read', 'write'], {
        UNSEEN_API_KEY,
      });
      expect(made.stdout).toMatch(/^unseen_[0-9a-f]{16}_[\w-]{43}\n$/);
      const listed = await call(['keys', 'list'], { UNSEEN_API_KEY });
      expect(listed.stdout).toMatch(/^[0-9a-f]{16} {2}read,write {2}all names {2}created .* {2}reader$/m);
      const [, id = ''] = /^(\w+) .*reader$/m.exec(listed.stdout) ?? [];
      expect((await call(['keys', 'revoke', id], { UNSEEN_API_KEY })).stdout).toBe(`key ${id} is revoked\n`);
      await expect(call(['list'], { UNSEEN_API_KEY: made.stdout.trim() })).rejects.toMatchObject({ code: 4 });
    } finally {
      const ended = once(service, 'exit');
      service.kill('SIGTERM');
      await ended;
    }
    expect(service.exitCode).toBe(0);
  });
});
