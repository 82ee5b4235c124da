import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { OWN_PROGRAM } from './service.js';

/** A built version of the service. */
export interface Version {
  readonly name: string;
  /** Path of its main.js. */
  readonly program: string;
}

/** This build, including local changes. */
export const OWN_VERSION: Version = { name: 'this build', program: OWN_PROGRAM };

/**
 * Checks out a commit into a separate working tree and builds it there. The tree is removed when this process ends.
 * Takes the dependencies from here if package-lock.json is the same, and installs them otherwise. Throws if the commit
 * doesn't exist or can't be built.
 */
export function buildVersion(commit: string): Version {
  const hash = run(
    '.',
    'git',
    ['rev-parse', '--verify', '--quiet', '--end-of-options', `${commit}^{commit}`],
    {
      onFailure: `${commit} is not a commit of this repository`,
    },
  ).trim();
  const name = `${commit} (${hash.slice(0, 10)})`;
  const folder = mkdtempSync(join(tmpdir(), 'unseen-version-'));
  const tree = join(folder, 'tree');
  process.once('exit', () => removeTree(folder, tree));
  console.error(`building ${name} …`);
  run('.', 'git', ['worktree', 'add', '--detach', tree, hash]);
  const lock = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8');
  if (lock(tree) === lock('.')) symlinkSync(resolve('node_modules'), join(tree, 'node_modules'));
  else run(tree, 'npm', ['ci', '--no-audit', '--no-fund']);
  run(tree, 'npm', ['run', 'build']);
  // Older versions have no bundle.
  const programs = ['service', 'src'].map((folder) => join(tree, 'dist', folder, 'main.js'));
  return { name, program: programs.find((path) => existsSync(path)) ?? programs[0]! };
}

/** Also removes an incomplete tree, which git forgets once its folder is gone. */
function removeTree(folder: string, tree: string): void {
  rmSync(tree, { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
  run('.', 'git', ['worktree', 'prune']);
}

/** Returns a program's output. If it fails, throws an error with the end of the output. */
function run(
  cwd: string,
  program: string,
  args: readonly string[],
  { onFailure }: { onFailure?: string } = {},
): string {
  try {
    return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    const words = `${stdout ?? ''}${stderr ?? ''}`.trim().slice(-2_000);
    throw new Error(onFailure ?? `${program} ${args.join(' ')} failed: ${words}`, { cause: error });
  }
}
