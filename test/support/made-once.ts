import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** Below node_modules, so that packages, and the types of Node, are found from there. */
const CACHE = join(process.cwd(), 'node_modules', '.cache');
const KEPT_MS = 86_400_000;
/** The versions of what makes it. */
const LOCK = 'package-lock.json';

/** What is made of files that seldom change, and takes seconds. */
export interface Making {
  /** The folder of the cache, `node_modules/.cache/unseen-KIND`. */
  readonly kind: string;
  readonly name: string;
  /** All that it is made of, the module that makes it too: what is made of other files is another one. */
  readonly files: readonly string[];
  into(folder: string): Promise<void>;
}

/** Makes it once for the same files, by whichever worker comes first. Answers its folder, in which nothing may be changed. */
export async function madeOnce({ kind, name, files, into }: Making): Promise<string> {
  const cache = join(CACHE, `unseen-${kind}`);
  const folder = join(cache, `${name}-${await digestOf([LOCK, ...files])}`);
  if (await exists(folder)) return folder;
  await mkdir(cache, { recursive: true });
  await removeOutdated(cache);
  const made = await mkdtemp(join(cache, 'making-'));
  try {
    await into(made);
    // Another worker may have been faster.
    await rename(made, folder).catch(() => undefined);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
  return folder;
}

/** The files below a folder whose paths, as seen from there, pass. */
export async function filesBelow(folder: string, passes: (path: string) => boolean): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => passes(relative(folder, path)))
    .sort();
}

async function digestOf(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) hash.update(file).update(await readFile(file));
  return hash.digest('hex').slice(0, 16);
}

async function removeOutdated(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    const path = join(cache, name);
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > KEPT_MS) await rm(path, { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
