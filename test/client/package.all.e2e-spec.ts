import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, startApp, type TestApp } from '../support/app.js';
import { bytesBelow, expectDocumentedSize } from '../support/documented-sizes.js';

const run = promisify(execFile);
const TSC = resolve('node_modules', 'typescript', 'bin', 'tsc');

/** A user's program. It also tests the types: an array must not be accepted as a single result. */
const CONSUMER = `
import { NotFoundError, UnseenClient, Worker, type LeasedUrl, type VisitedSetDescription } from 'unseen-client';

const set = new UnseenClient({ url: process.argv[2] ?? '' }).visitedSet('crawl');
const missing = await set.describe().catch((error: unknown) => error instanceof NotFoundError);
await set.create({ capacity: 1_000, maxAgeSeconds: 60 });
const one: 'new' | 'seen' | 'limited' | 'invalid' = await set.discover('https://example.org/');
const some: ('seen' | 'unseen' | 'invalid')[] = await set.check(['https://example.org/', 'https://example.org/a']);
for await (const [url, result] of set.visit(new Set(['https://example.org/b']), { ttlSeconds: 30 })) console.log(url, result);
const done: LeasedUrl[] = [];
await new Worker(set, async (task) => void done.push(task), { untilEmpty: true }).run();
const description = await set.describe();
const items: number = 'state' in description ? 0 : (description satisfies VisitedSetDescription).items;
// @ts-expect-error: an array has no one result
const wrong: 'new' | 'seen' | 'invalid' = await set.visit(['https://example.org/']);
console.log(JSON.stringify({ missing, one, some, items, done: done.map(({ url }) => url), wrong }));
`;
const OPTIONS = {
  ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false },
  ...{ module: 'nodenext', target: 'es2023', lib: ['es2024', 'dom'], types: [] },
};
/** Pages whose code is compiled, and the file's name. */
const PAGES = [
  ['docs/client.md', 'page'],
  ['libs/client/README.md', 'readme'],
] as const;
/** Node's types are not available, so declare the few globals that a page lacks. */
const GLOBALS = 'declare const process: { readonly argv: readonly string[] };\n';

/**
 * A page's code as one module. For a line such as `await crawl.check(url); // 'seen'`, it prints the documented and the
 * actual value.
 */
function codeOf(page: string): string {
  const blocks = [...page.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, block = '']) => block);
  const lines = blocks
    .join('\n')
    .split('\n')
    .map((line) => {
      const [, call, said] = /^(await .*); \/\/ (.*)$/.exec(line) ?? [];
      if (call === undefined || said === undefined) return line;
      const value = said.replace(/^('\w+'): .*$/, '$1');
      return `console.log('told ' + JSON.stringify({ came: ${call}, said: ${value} }));`;
    });
  return lines.join('\n');
}

describe('the client’s package', () => {
  let app: TestApp;
  let folder: string;
  let packed: string;
  beforeAll(async () => {
    app = await startApp();
    folder = await mkdtemp(join(tmpdir(), 'unseen-consumer-'));
    packed = (await run(process.execPath, ['scripts/client-pack.mjs', folder])).stdout.trim();
    await writeFile(
      join(folder, 'package.json'),
      '{ "name": "consumer", "type": "module", "private": true }',
    );
    const install = ['install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', packed];
    await run('npm', install, { cwd: folder });
    await compileAll();
  });
  afterAll(async () => {
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Compiles all files in one run, because libraries take most of the time. */
  async function compileAll(): Promise<void> {
    await writeFile(join(folder, 'globals.d.ts'), GLOBALS);
    await writeFile(join(folder, 'consumer.ts'), CONSUMER);
    for (const [page, name] of PAGES) {
      const code = codeOf(await readFile(page, 'utf8')).replaceAll('http://127.0.0.1:3000', app.url);
      await writeFile(join(folder, `${name}.ts`), code);
    }
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: OPTIONS, include: ['*.ts'] }),
    );
    await run(process.execPath, [TSC], { cwd: folder }).catch((error: unknown) => {
      throw new Error((error as { stdout: string }).stdout);
    });
  }

  it('has no dependencies, and contains its licence and types', async () => {
    const inPackage = join(folder, 'node_modules', 'unseen-client');
    const manifest = JSON.parse(await readFile(join(inPackage, 'package.json'), 'utf8')) as object;
    expect(manifest).not.toHaveProperty('dependencies');
    const installed = await readdir(join(folder, 'node_modules'));
    expect(installed.sort()).toEqual(['.package-lock.json', 'unseen-client']);
    expect(await readFile(join(inPackage, 'LICENSE'), 'utf8')).toContain('MIT');
    expect(await readFile(join(inPackage, 'dist', 'index.d.ts'), 'utf8')).toContain('UnseenClient');
    expect(await readFile(join(inPackage, 'dist', 'worker.js'), 'utf8')).not.toMatch(/from '(?!\.\/)/);
  });

  it('has the documented sizes', async () => {
    expectDocumentedSize('the TypeScript client', 'download', (await stat(packed)).size);
    expectDocumentedSize(
      'the TypeScript client',
      'disk',
      bytesBelow(join(folder, 'node_modules', 'unseen-client')),
    );
  });

  it('compiles for a user without the types of Node.js, and runs', async () => {
    const { stdout } = await run(process.execPath, ['consumer.js', app.url], { cwd: folder });
    const [visited, told = ''] = stdout.trim().split('\n');
    expect(visited).toBe('https://example.org/b new');
    expect(JSON.parse(told)).toEqual({
      ...{ missing: true, one: 'new', some: ['seen', 'unseen'], items: 2 },
      ...{ done: ['https://example.org/'], wrong: ['seen'] },
    });
  });

  it.each(PAGES)('does what %s says, line by line', async (_, name) => {
    await call(app, 'DELETE', '/v1/visited-sets/crawl');
    const { stdout } = await run(process.execPath, [`${name}.js`], { cwd: folder });
    const told = stdout
      .split('\n')
      .flatMap((line) =>
        line.startsWith('told ') ? [JSON.parse(line.slice(5)) as { said: unknown; came: unknown }] : [],
      );
    expect(told.length).toBeGreaterThan(2);
    for (const { said, came } of told) expect(came).toEqual(said);
  });

  it('has the types of docs/openapi.json', async () => {
    await run(process.execPath, ['scripts/client-types.mjs', '--check']);
  });
});
