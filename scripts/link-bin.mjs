/**
 * Makes `npx unseen` run this checkout's program directly. Without the link, npm would first pack the checkout, which
 * rebuilds it and takes many seconds.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const bin = join(import.meta.dirname, '..', 'node_modules', '.bin');
await mkdir(bin, { recursive: true });
// A script, because not every Node.js accepts a module without a file extension. If a command never ended, a script would
// exit with 0, so this sets another status first. A command that ends sets its own.
const program = `#!/usr/bin/env node
process.exitCode = 13;
void import('../../scripts/built.mjs').then(({ exitUnlessBuilt }) => {
  exitUnlessBuilt();
  return import('../../dist/service/cli/unseen.js');
});
`;
const path = join(bin, 'unseen');
// A copied checkout may share the old file with another one.
await rm(path, { force: true });
await writeFile(path, program, { mode: 0o755 });
