import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '..', 'examples');

/**
 * The examples with their own packages, and whether those are installed as in their lock files.
 *
 * @returns {{ name: string, folder: string, installed: boolean }[]}
 */
export function findExamples() {
  return readdirSync(FOLDER)
    .map((name) => ({ name, folder: join(FOLDER, name) }))
    .filter(({ folder }) => existsSync(join(folder, 'package-lock.json')))
    .map((example) => ({ ...example, installed: packagesInstalled(example.folder) }));
}

/** True if npm finished installing a folder's packages, since it writes its own lock file last. */
export function packagesInstalled(folder) {
  const written = join(folder, 'node_modules', '.package-lock.json');
  return (
    existsSync(written) && statSync(written).mtimeMs >= statSync(join(folder, 'package-lock.json')).mtimeMs
  );
}
