import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';
import { startApp, type TestApp } from '../support/app.js';

const run = promisify(execFile);
const LIBRARIES = readdirSync('libs');
const MOST_LINES = 40;
const sourceOf = (library: string) => resolve('libs', library, 'src', 'index.ts');
const SOURCES = {
  ...Object.fromEntries(['bloom', 'client', 'store', 'url-key'].map((name) => [`#${name}`, sourceOf(name)])),
  '#store/embedded': resolve('libs/store/src/embedded/index.ts'),
  'unseen-client': sourceOf('client'),
};

const readme = (library: string) => readFileSync(join('libs', library, 'README.md'), 'utf8');

/** A README's TypeScript. Each line `expression; // value` is a check, and a colon may follow the value. */
function program(library: string): { checks: number; code: string } | undefined {
  const example = /```ts\n([^]*?)```/.exec(readme(library))?.[1];
  if (example === undefined) return undefined;
  let checks = 0;
  const lines = example.split('\n').map((line) => {
    const [, expression, said = ''] = /^([\w(].*); \/\/ (.*)$/.exec(line) ?? [];
    if (expression === undefined) return line;
    checks++;
    return `assert.deepEqual(${expression}, ${said.replace(/: [^']*$/, '')});`;
  });
  return { checks, code: ["import assert from 'node:assert/strict';", ...lines].join('\n') };
}

describe('each library', () => {
  let app: TestApp;
  let folder: string;
  beforeAll(async () => {
    app = await startApp();
    // A new checkout doesn't have this folder yet.
    const cache = join('node_modules', '.cache');
    await mkdir(cache, { recursive: true });
    folder = await mkdtemp(join(cache, 'example-'));
  });
  afterAll(async () => {
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  it.each(LIBRARIES)('libs/%s opens with a short README', (library) => {
    expect(existsSync(join('libs', library, 'README.md'))).toBe(true);
    expect(readme(library).split('\n').length).toBeLessThanOrEqual(MOST_LINES);
  });

  it.each(LIBRARIES.filter(program))('libs/%s: the example gives the documented values', async (library) => {
    const { checks, code } = program(library)!;
    expect(checks).toBeGreaterThan(2);
    const outfile = resolve(folder, `${library}.mjs`);
    await build({
      stdin: {
        contents: code.replaceAll('http://127.0.0.1:3000', app.url),
        resolveDir: process.cwd(),
        loader: 'ts',
      },
      ...{ outfile, bundle: true, platform: 'node', format: 'esm', packages: 'external', alias: SOURCES },
      logLevel: 'error',
    });
    await run(process.execPath, [outfile], { cwd: folder });
  });
});
