/**
 * npm runs this after `npm ci`, and before the first `npx unseen` in a checkout. It builds the checkout. Before `npx
 * unseen`, it keeps an existing build. A new one would take seconds without output, and remove files that running
 * programs may load.
 */
import { isBuilt } from './built.mjs';

if (process.env.npm_command !== 'exec' || !isBuilt()) await import('./build.mjs');
await import('./link-bin.mjs');
