import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { findExamples } from '../../scripts/find-examples.mjs';
import { filesBelow, madeOnce } from './made-once.js';

const run = promisify(execFile);
const TSC = resolve('node_modules', '@typescript', 'native', 'bin', 'tsc');
const CLIENT = join('libs', 'client');
const OTHERS = ['tsconfig.json', join('test', 'support', 'example.ts')];

/** An example with its types checked, its programs built and the client from the current sources. */
export interface Example {
  /** A copy of the built example, so tests write nothing into the checkout. */
  readonly folder: string;
  remove(): Promise<void>;
}

/** Text for a suite's name: empty, or the reason why its tests are skipped. */
export function whySkipped(name: string): string {
  const found = findExamples().find((example) => example.name === name);
  return found === undefined || found.installed
    ? ''
    : ` (skipped: the packages of examples/${name} are not installed; npm run tools:ensure installs them)`;
}

/** Builds `examples/NAME` unless a build exists. Throws with the compiler's output if its types are wrong. */
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

/** The client as it is packed, shared by all examples. */
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

/** Links the example's packages, except the client. */
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
