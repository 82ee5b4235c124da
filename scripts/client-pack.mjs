/**
 * Builds the TypeScript client and packs it as for publishing. Run it with `node scripts/client-pack.mjs [FOLDER]`.
 * Writes the package to the folder (by default the current one) and prints its path.
 */
import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = join(import.meta.dirname, '..');
const client = join(root, 'libs', 'client');
const target = resolve(process.argv[2] ?? '.');

const folder = await mkdtemp(join(tmpdir(), 'unseen-client-'));
try {
  const compiler = join(root, 'node_modules', '@typescript', 'native', 'bin', 'tsc');
  run(process.execPath, [compiler, '-p', client, '--outDir', join(folder, 'dist')], root);
  for (const file of ['package.json', 'README.md']) await cp(join(client, file), join(folder, file));
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  const packed = run('npm', ['pack', '--json', '--pack-destination', target], folder);
  const [{ filename }] = JSON.parse(packed);
  console.log(join(target, filename));
} finally {
  await rm(folder, { recursive: true, force: true });
}

function run(command, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new Error(`${command} failed: ${error?.message ?? `${stdout}${stderr}`}`);
}
