/**
 * Makes `npx unseen` run this checkout's program directly. Without the link, npm would first pack the checkout, which
 * rebuilds it and takes many seconds.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const bin = join(import.meta.dirname, '..', 'node_modules', '.bin');
await mkdir(bin, { recursive: true });
// A module, so that Node exits with 13 if the command never ends. In a script, `import()` would make that a success.
const program = `#!/usr/bin/env node
import { exitUnlessBuilt } from '../../scripts/built.mjs';
exitUnlessBuilt();
await import('../../dist/service/cli/unseen.js');
`;
const path = join(bin, 'unseen');
// A copied checkout may share the old file with another one.
await rm(path, { force: true });
await writeFile(path, program, { mode: 0o755 });
