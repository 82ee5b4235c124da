/**
 * Has `npx unseen` run the program of this checkout at once. Without it npm would make a package of the checkout first, which
 * builds it anew and takes many seconds.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const bin = join(import.meta.dirname, '..', 'node_modules', '.bin');
await mkdir(bin, { recursive: true });
const program = "#!/usr/bin/env node\nvoid import('../../dist/src/cli/unseen.js');\n";
await writeFile(join(bin, 'unseen'), program, { mode: 0o755 });
