/**
 * Makes `npx unseen` run this checkout's program directly. Without the link, npm would first pack the checkout, which
 * rebuilds it and takes many seconds.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const bin = join(import.meta.dirname, '..', 'node_modules', '.bin');
await mkdir(bin, { recursive: true });
const program = "#!/usr/bin/env node\nvoid import('../../dist/service/cli/unseen.js');\n";
await writeFile(join(bin, 'unseen'), program, { mode: 0o755 });
