import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Inside node_modules, so that packages and the types of Node resolve from there. */
const CACHE = join(process.cwd(), 'node_modules', '.cache');
const KEPT_MS = 86_400_000;
const LOOK_MS = 50;
/** The lock file, with the tools' versions. */
const LOCK = 'package-lock.json';

/** Something that takes seconds to make from files that seldom change. */
export interface Making {
  /** The cache is in the folder `node_modules/.cache/unseen-KIND`. */
  readonly kind: string;
  readonly name: string;
  /** All inputs, including the module that makes it. When any input changes, a new version is made. */
  readonly files: readonly string[];
  into(folder: string): Promise<void>;
}

/**
 * Makes it once for the same inputs, in the first worker that needs it. Other workers wait. Returns its folder, which
 * callers must not change.
 */
export async function madeOnce({ kind, name, files, into }: Making): Promise<string> {
  const cache = join(CACHE, `unseen-${kind}`);
  const folder = join(cache, `${name}-${await digestOf([LOCK, ...files])}`);
  if (await exists(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const lock = await locked(`${folder}.lock`);
  try {
    if (!(await exists(folder))) await make(cache, folder, into);
    await rm(`${folder}.lock`, { force: true });
  } finally {
    await lock.close();
  }
  return folder;
}

async function make(cache: string, folder: string, into: Making['into']): Promise<void> {
  await removeOutdated(cache);
  const making = await mkdtemp(join(cache, 'making-'));
  try {
    await into(making);
    await rename(making, folder);
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

/** Waits for a file's lock. The system frees it when its holder closes the file or dies. */
async function locked(path: string): Promise<FileHandle> {
  // Most test files find everything made.
  const { tryLock } = await import('fs-native-extensions');
  const file = await open(path, 'w');
  while (!tryLock(file.fd)) await sleep(LOOK_MS);
  return file;
}

/** The files below a folder whose relative paths satisfy `passes`. */
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
