import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { findExamples } from '../../scripts/find-examples.mjs';
import { filesBelow, madeOnce } from './made-once.js';

const run = promisify(execFile);
const TSC = resolve('node_modules', 'typescript', 'bin', 'tsc');
const CLIENT = join('libs', 'client');
const OTHERS = ['tsconfig.json', join('test', 'support', 'example.ts')];

/** An example as it is, with its types checked, its programs built, and the client of the sources as they are. */
export interface Example {
  /** Where it lies: a copy, so that nothing is written into the checkout. */
  readonly folder: string;
  remove(): Promise<void>;
}

/** For the name of a suite: empty, or why its tests cannot be run. */
export function whySkipped(name: string): string {
  const found = findExamples().find((example) => example.name === name);
  return found === undefined || found.installed
    ? ''
    : ` (skipped: the packages of examples/${name} are not installed; npm run tools:ensure installs them)`;
}

/** Builds `examples/NAME`, unless that was done. Throws with what the compiler says if its types are wrong. */
export async function buildExample(name: string): Promise<Example> {
  const source = join('examples', name);
  const isOwn = (path: string): boolean => !/^(?:node_modules|dist)\b/.test(path);
  const own = await filesBelow(source, isOwn);
  const clientFiles = [...OTHERS, ...(await filesBelow(CLIENT, isOwn))];
  const built = await madeOnce({
    kind: 'examples',
    name,
    files: [...clientFiles, ...own],
    into: async (folder) => build(source, own, await builtClient(clientFiles), folder),
  });
  const folder = await mkdtemp(join(dirname(built), 'copy-'));
  await cp(built, folder, { recursive: true, verbatimSymlinks: true });
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** The client as it is packed, for all examples. */
async function builtClient(files: readonly string[]): Promise<string> {
  return madeOnce({
    kind: 'examples',
    name: 'client',
    files,
    into: async (folder) => {
      await cp(join(CLIENT, 'package.json'), join(folder, 'package.json'));
      await compile(CLIENT, ['--outDir', join(folder, 'dist')]);
    },
  });
}

async function build(source: string, own: readonly string[], client: string, folder: string): Promise<void> {
  for (const path of own) await cp(path, join(folder, relative(source, path)));
  await linkPackages(resolve(source, 'node_modules'), join(folder, 'node_modules'));
  await cp(client, join(folder, 'node_modules', 'unseen-client'), { recursive: true });
  await compile(folder, []);
}

/** The packages of the example, but for the client. */
async function linkPackages(from: string, to: string): Promise<void> {
  await mkdir(to);
  if (!existsSync(from)) return;
  for (const name of await readdir(from))
    if (name !== 'unseen-client') await symlink(join(from, name), join(to, name));
}

async function compile(project: string, options: readonly string[]): Promise<void> {
  await run(process.execPath, [TSC, '-p', project, ...options]).catch((error: unknown) => {
    throw new Error(`${project}: ${(error as { stdout: string }).stdout}`);
  });
}
