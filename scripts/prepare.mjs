/**
 * npm runs this after `npm ci`, and before the first `npx unseen` in a checkout. It builds the checkout. Before `npx
 * unseen`, it keeps an existing build. A new one would take seconds without output, and remove files that running
 * programs may load.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const dist = join(import.meta.dirname, '..', 'dist');
// An interrupted build may leave only one of the two files.
const isBuilt = ['service/cli/unseen.js', 'dashboard/index.html'].every((path) =>
  existsSync(join(dist, path)),
);
if (process.env.npm_command !== 'exec' || !isBuilt) await import('./build.mjs');
await import('./link-bin.mjs');
