import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { assertBuilt } from '../../scripts/built.mjs';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'unseen-build-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function put(path: string, text = ''): Promise<void> {
  await mkdir(join(folder, dirname(path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

/** Copies files of the checkout into the temporary folder. */
async function take(...paths: readonly string[]): Promise<void> {
  for (const path of paths) await cp(path, join(folder, path), { recursive: true });
}

/** Runs one of the project's scripts in the temporary folder. */
async function run(name: string, env: Readonly<Record<string, string>> = {}): Promise<number | null> {
  await take(join('scripts', name), BUILT);
  const child = spawn(process.execPath, [join(folder, 'scripts', name)], { env, stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

const BUILT = join('scripts', 'built.mjs');
const PROGRAM = 'dist/service/cli/unseen.js';
const PAGE = 'dist/dashboard/index.html';
const LINK = 'node_modules/.bin/unseen';
/** Lets Node.js treat a file without an extension as a script, as Node.js 22.6 does. */
const OTHER_NODE = { ...process.env, NODE_OPTIONS: '--no-experimental-detect-module' };

describe('without a build', () => {
  it.each<[string, string, readonly string[]]>([
    ['npm start', 'npm', ['start', '--silent']],
    ['npm run demo', 'npm', ['run', '--silent', 'demo']],
    ['npm run keys', 'npm', ['run', '--silent', 'keys']],
    ['npm run verify', 'npm', ['run', '--silent', 'verify']],
    ['npx unseen', process.execPath, [LINK]],
    ['scripts/audit.mjs', process.execPath, ['scripts/audit.mjs']],
  ])('%s says in one line which command builds', async (_, program, args) => {
    await take('package.json', 'package-lock.json', BUILT, 'scripts/audit.mjs', 'scripts/bundle');
    expect(await run('link-bin.mjs')).toBe(0);
    const { status, stdout, stderr } = spawnSync(program, args, {
      cwd: folder,
      encoding: 'utf8',
      env: OTHER_NODE,
    });
    expect([status, stdout, stderr]).toEqual([
      1,
      '',
      'Unseen is not built here: run npm ci, which installs the packages and builds.\n',
    ]);
  });
});

it('npx unseen exits with 13 if the command never ends', async () => {
  assertBuilt();
  await put('package.json', '{ "type": "module" }');
  await put(PAGE);
  await put(PROGRAM, await readFile(PROGRAM, 'utf8'));
  await put('dist/service/cli/command-line.js', 'export const runCommandLine = () => new Promise(() => {});');
  expect(await run('link-bin.mjs')).toBe(0);
  for (const program of [LINK, PROGRAM]) {
    const { status, stdout } = spawnSync(process.execPath, [join(folder, program)], {
      encoding: 'utf8',
      env: OTHER_NODE,
    });
    expect([program, status, stdout]).toEqual([program, 13, '']);
  }
});

describe('scripts/prepare.mjs', () => {
  it.each([
    ['builds a checkout that has no build', [], 'exec', true],
    ['builds what an interrupted build left without a dashboard', [PROGRAM], 'exec', true],
    ['builds what an interrupted build left without a program', [PAGE], 'exec', true],
    ['keeps a build before npx unseen', [PROGRAM, PAGE], 'exec', false],
    ['builds after npm ci', [PROGRAM, PAGE], 'ci', true],
  ])('%s', async (_, files, npm_command, isBuilt) => {
    for (const file of files) await put(file);
    await put('scripts/link-bin.mjs');
    await put(
      'scripts/build.mjs',
      "import { writeFileSync } from 'node:fs'; writeFileSync(import.meta.filename + '.ran', '');",
    );
    expect(await run('prepare.mjs', { npm_command })).toBe(0);
    const ran = await readFile(join(folder, 'scripts', 'build.mjs.ran')).catch(() => undefined);
    expect(ran !== undefined).toBe(isBuilt);
  });
});

it('scripts/build.mjs ends the other builds when one has failed', async () => {
  // The client's build writes its process id and continues. Once it has started, the build of the other programs fails.
  await put('scripts/bundle/ship.mjs', 'setInterval(() => {}, 1000);');
  await put(
    'node_modules/@typescript/native/bin/tsc',
    `const { existsSync, renameSync, writeFileSync } = require('node:fs');
    if (process.argv.includes('libs/client')) {
      writeFileSync('pid.new', String(process.pid));
      renameSync('pid.new', 'pid');
    }
    setInterval(() => {
      if (!process.argv.includes('libs/client') && existsSync('pid')) process.exit(1);
    }, 10);`,
  );
  await put('node_modules/vite/package.json', '{}');
  let pid: number | undefined;
  try {
    expect(await run('build.mjs')).toBe(1);
    pid = Number(await readFile(join(folder, 'pid'), 'utf8'));
    expect(() => process.kill(pid!, 0)).toThrow('ESRCH');
    pid = undefined;
  } finally {
    if (pid !== undefined) process.kill(pid);
  }
});
