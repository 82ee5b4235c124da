import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { assertBuilt } from '../../scripts/built.mjs';
import { bytesBelow, expectDocumentedSize } from '../support/documented-sizes.js';
import { INSTALLED, LOCKED, RELEASED, type LockedPackage } from '../support/lock-file.js';
import { freePort } from '../support/redis-server.js';
import { until } from '../support/until.js';

assertBuilt();

const run = promisify(execFile);
const MANIFEST = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly version: string;
  readonly devDependencies: Readonly<Record<string, string>>;
};

/** The part of a bill of materials that the tests read. */
interface Bill {
  readonly components: readonly {
    readonly purl: string;
    readonly properties?: readonly { readonly value: string }[];
  }[];
}

it('npx unseen runs the built program of the checkout, even on the first call', async () => {
  const { version } = MANIFEST;
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
  let tarball: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'unseen-installed-'));
    // Skips the package's own build, which would remove files that other tests use.
    const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
    const { stdout } = await run('npm', pack, { maxBuffer: 2 ** 26 });
    const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
    tarball = join(folder, filename);
    const dependencies = { unseen: `file:${filename}` };
    const lock = {
      '': { dependencies },
      'node_modules/unseen': { resolved: dependencies.unseen, ...MANIFEST },
    };
    await writeFile(
      join(folder, 'package.json'),
      JSON.stringify({ name: 'user', version: '1.0.0', dependencies }),
    );
    await writeFile(
      join(folder, 'package-lock.json'),
      JSON.stringify({ lockfileVersion: 3, packages: { ...lock, ...RELEASED } }),
    );
    const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--omit=dev'];
    // npm uses the network only for packages that its cache lacks: `npm ci` in the checkout has filled it.
    const cached = ['--prefer-offline', '--fetch-retries=1', '--fetch-timeout=60000'];
    await run('npm', ['ci', ...quiet, ...cached], { cwd: folder, maxBuffer: 2 ** 26, timeout: 240_000 });
    unseen = join(folder, 'node_modules', '.bin', 'unseen');
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('comes with the packages that it needs at run time, without TypeScript or others for development', async () => {
    const list = await readFile(join(folder, 'node_modules', '.package-lock.json'), 'utf8');
    const { packages } = JSON.parse(list) as { packages: Readonly<Record<string, LockedPackage>> };
    const { unseen: own, ...others } = Object.fromEntries(
      Object.entries(packages).map(([path, found]) => [path.replace(/^node_modules\//, ''), found.version]),
    );
    expect(own).toBe(MANIFEST.version);
    const needed = Object.entries(INSTALLED).map(([path, found]) => [
      path.replace(/^node_modules\//, ''),
      found.version,
    ]);
    expect(others).toEqual(Object.fromEntries(needed));
    expect(await readdir(join(folder, 'node_modules'))).not.toContain('typescript');
    expect(Object.keys(others).filter((name) => name in MANIFEST.devDependencies)).toEqual([]);
  });

  it('has a bill of materials with the packages that npm sbom sees, and the bundled ones', async () => {
    const npm = await run('npm', ['sbom', '--sbom-format=cyclonedx'], { cwd: folder });
    const own = await run(unseen, ['sbom'], { cwd: folder });
    const purlsOf = (text: string, part?: string): string[] =>
      (JSON.parse(text) as Bill).components
        .filter(({ properties = [] }) => part === undefined || properties.some(({ value }) => value === part))
        .map(({ purl }) => purl)
        .sort();
    const installed = purlsOf(npm.stdout).filter((purl) => !purl.startsWith('pkg:npm/unseen@'));
    expect(purlsOf(own.stdout, 'installed')).toEqual(installed);
    expect(purlsOf(own.stdout, 'bundled into the service').length).toBeGreaterThan(50);
    expect(purlsOf(own.stdout, 'bundled into the dashboard').length).toBeGreaterThan(2);
  });

  it('has the documented sizes', async () => {
    const packages = join(folder, 'node_modules');
    expectDocumentedSize('the npm package `unseen`', 'download', (await stat(tarball)).size);
    expectDocumentedSize('the npm package `unseen`', 'disk', bytesBelow(join(packages, 'unseen')));
    const isForAnySystem = (path: string): boolean =>
      LOCKED[relative(folder, path)]?.os === undefined && !/\/node_modules\/(?:unseen$|\.)/.test(path);
    expectDocumentedSize('its dependencies', 'disk', bytesBelow(packages, isForAnySystem));
  });

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
      const pages = join(folder, 'pages.txt');
      await writeFile(pages, 'https://example.org/a\nhttps://example.org/b\n');
      for (const [command, told] of [
        ['discover', /: 2 new, 0 seen, /],
        ['discover', /: 0 new, 2 seen, /],
        ['forget', /: 2 forgotten, /],
        ['discover', /: 2 new, 0 seen, /],
      ] as const) {
        const { stdout } = await call([command, 'crawl', pages], { UNSEEN_API_KEY });
        expect([command, stdout]).toEqual([command, expect.stringMatching(told)]);
      }
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
