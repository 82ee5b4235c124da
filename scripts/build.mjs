/**
 * Builds the service with its command line, the programs for measurements, the client, and the dashboard, in parallel.
 * Leaves type checks, which would take three times as long, to `npm run types`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const require = createRequire(import.meta.url);
const tsc = join(root, 'node_modules', '@typescript', 'native', 'bin', 'tsc');
const vite = join(require.resolve('vite/package.json'), '..', 'bin', 'vite.js');

const failed = new AbortController();

async function run(program, ...args) {
  failed.signal.throwIfAborted();
  const child = spawn(process.execPath, [program, ...args], { cwd: root, stdio: 'inherit' });
  failed.signal.addEventListener('abort', () => child.kill(), { once: true });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} failed with exit status ${code}`);
}

async function clientAndDashboard() {
  await run(tsc, '-p', 'libs/client');
  await run(vite, 'build', 'libs/dashboard', '--logLevel', 'warn');
}

// Removes outputs of sources that no longer exist.
await rm(join(root, 'dist'), { recursive: true, force: true });
const bundle = join('scripts', 'bundle', 'ship.mjs');
const builds = [run(bundle), run(tsc, '-p', 'tsconfig.build.json'), clientAndDashboard()];
try {
  await Promise.all(builds);
} catch (error) {
  failed.abort();
  await Promise.allSettled(builds);
  throw error;
}
