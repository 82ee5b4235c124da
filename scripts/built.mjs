/**
 * Tells whether the checkout is built. Run as a program, before those that need a build, it fails with a message if not.
 * The package and the image have this file too, because their package.json runs it.
 */
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

const DIST = join(import.meta.dirname, '..', 'dist');
// An interrupted build may leave only one of the two files.
const FILES = ['service/cli/unseen.js', 'dashboard/index.html'];

/** Whether `npm run build` has built the checkout, maybe from older sources. */
export const isBuilt = () => FILES.every((path) => existsSync(join(DIST, path)));

/** Throws if the checkout isn't built. */
export function assertBuilt() {
  if (!isBuilt())
    throw new Error('Unseen is not built here: run npm ci, which installs the packages and builds.');
}

/** Ends the process with a message if the checkout isn't built. */
export function exitUnlessBuilt() {
  try {
    assertBuilt();
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

const [, program] = process.argv;
if (program && realpathSync(program) === import.meta.filename) exitUnlessBuilt();
