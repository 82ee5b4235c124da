import { verifyDirectory } from '#store/embedded';
import { configFromEnvironment, ConfigError } from '../config.js';

const USAGE = `npm run verify

Reads all of the embedded store's data in DATA_DIR, says of every filter whether it is whole, and changes none. The
service must be stopped. Exits with 0 if all is whole, with 1 if something is damaged or missing, or nothing can be read.
`;

try {
  process.exitCode = process.argv.length > 2 ? usage() : await verify(configFromEnvironment().dataDir);
} catch (error) {
  const foreseen = error instanceof ConfigError ? '' : 'DATA_DIR: ';
  process.stderr.write(`verify: ${foreseen}${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

function usage(): number {
  process.stdout.write(USAGE);
  return 0;
}

async function verify(directory: string): Promise<number> {
  const filters = await verifyDirectory(directory);
  for (const { name, kind, whole } of filters) {
    const verdict = whole
      ? 'whole'
      : 'part of it is missing: clear it, drop it, or restore a copy of the directory';
    process.stdout.write(`${kind} ${name}: ${verdict}\n`);
  }
  const lost = filters.filter(({ whole }) => !whole).length;
  process.stdout.write(`${filters.length - lost} whole, ${lost} not\n`);
  return lost === 0 ? 0 : 1;
}
