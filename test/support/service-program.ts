import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { filesBelow, madeOnce } from './made-once.js';

const OWN_SOURCE = join('test', 'support', 'service-program.ts');
const BUNDLER = join('scripts', 'bundle.mjs');
const COMPILER = join('scripts', 'bundle', 'compiled-code.mjs');
const FIXED_RANDOM = join('test', 'support', 'fixed-random.ts');
const TEST_CLOCK = join('test', 'support', 'service-clock.ts');
/** A module that the test clock imports. */
const MOVED_CLOCK = join('test', 'support', 'moved-clock.ts');
const PARTS = join('test', 'support', 'service-parts.ts');

/** The programs made in this process outside Jest: `npm run history` starts services too. */
let asked: Promise<string> | undefined;

/**
 * Builds the programs from the current sources, as `npm run build` does, but with the clock and the seeds of the tests.
 * Returns the folder that holds them, laid out like `dist/service`. The first worker builds, and the others reuse its
 * result while the sources stay the same.
 */
export function serviceProgram(): Promise<string> {
  // Reading all the sources takes as long as running one CLI command.
  const { onceInWorker } = globalThis;
  if (onceInWorker) return onceInWorker('programs', make);
  asked ??= make();
  return asked;
}

async function make(): Promise<string> {
  const isSource = (path: string): boolean => /(?<!\.spec|\.d)\.ts$/.test(path);
  const sources = await Promise.all([
    filesBelow('src', isSource),
    filesBelow('libs', isSource),
    filesBelow(join('scripts', 'bundle'), (path) => path.endsWith('.mjs')),
  ]);
  return madeOnce({
    kind: 'programs',
    name: 'bundle',
    files: [OWN_SOURCE, BUNDLER, FIXED_RANDOM, TEST_CLOCK, MOVED_CLOCK, PARTS, ...sources.flat()],
    into: bundleInto,
  });
}

async function bundleInto(folder: string): Promise<void> {
  const load = (path: string): Promise<unknown> => import(pathToFileURL(resolve(path)).href);
  const { bundle } = (await load(BUNDLER)) as typeof import('../../scripts/bundle.mjs');
  const { compile } = (await load(COMPILER)) as typeof import('../../scripts/bundle/compiled-code.mjs');
  await bundle(folder, {
    replacements: { '/service-random.js': FIXED_RANDOM, '/service-clock.js': TEST_CLOCK },
    modules: { parts: PARTS },
  });
  await compile(folder);
}
