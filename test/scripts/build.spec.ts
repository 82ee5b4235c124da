import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'unseen-build-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function put(path: string, text = ''): Promise<void> {
  await mkdir(join(folder, dirname(path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

/** Runs one of the project's scripts in the temporary folder. */
async function run(name: string, env: Readonly<Record<string, string>> = {}): Promise<number | null> {
  await cp(join('scripts', name), join(folder, 'scripts', name));
  const child = spawn(process.execPath, [join(folder, 'scripts', name)], { env, stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

describe('scripts/prepare.mjs', () => {
  const PROGRAM = 'dist/service/cli/unseen.js';
  const PAGE = 'dist/dashboard/index.html';

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
