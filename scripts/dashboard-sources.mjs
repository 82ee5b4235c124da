import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The file in which a build stores the digest of the dashboard's sources. */
export const BUILT_FROM = join('dist', 'dashboard.sources');
const FOLDERS = [join('libs', 'dashboard'), join('libs', 'client', 'src'), join('libs', 'bloom', 'src')];

/** A digest of the files that the dashboard is built from. File times would not do, because checkouts change them. */
export function digestOfSources(root = '.') {
  const hash = createHash('sha256');
  for (const folder of FOLDERS) {
    const names = readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/\.(?:spec\.ts|md)$/.test(entry.name))
      .map(({ parentPath, name }) => join(parentPath, name));
    for (const name of names.sort()) hash.update(readFileSync(name));
  }
  return hash.digest('hex');
}
