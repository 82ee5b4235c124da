import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { findExamples } from '../../scripts/find-examples.mjs';

const run = promisify(execFile);
const TSC = resolve('node_modules', 'typescript', 'bin', 'tsc');
/** Below node_modules, so that the types of Node are found. */
const CACHE = join(process.cwd(), 'node_modules', '.cache', 'unseen-examples');

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

/** Builds `examples/NAME`. Throws with what the compiler says if its types are wrong. */
export async function buildExample(name: string): Promise<Example> {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(CACHE, `${name}-`));
  const source = resolve('examples', name);
  const skipped = ['node_modules', 'dist'].map((below) => join(source, below));
  await cp(source, folder, { recursive: true, filter: (path) => !skipped.includes(path) });
  await linkPackages(join(source, 'node_modules'), join(folder, 'node_modules'));
  const client = join(folder, 'node_modules', 'unseen-client');
  await mkdir(client);
  await cp(join('libs', 'client', 'package.json'), join(client, 'package.json'));
  await compile('libs/client', ['--outDir', join(client, 'dist')]);
  await compile(folder, []);
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
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
