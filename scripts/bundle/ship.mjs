/** Bundles the programs that users run into `dist/service`, with the licences of their packages and compiled code. */
import { join } from 'node:path';
import { bundle } from '../bundle.mjs';
import { compile } from './compiled-code.mjs';
import { writeLicences } from './licences.mjs';

const folder = join(import.meta.dirname, '..', '..', 'dist', 'service');
await writeLicences(folder, await bundle(folder, { maps: true }));
try {
  await compile(folder);
} catch (error) {
  // The programs work without it. They start slower.
  console.error(`WARNING: the service has no compiled code: ${error.message}`);
}
