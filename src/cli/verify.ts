import { verifyDirectory } from '#store/embedded';
import { configFromEnvironment, type Config } from '../config/config.js';

const USAGE = `npm run verify

Reads all data of the embedded store in DATA_DIR, and prints for every filter whether it is intact. Changes nothing. The
service must be stopped.

Exit status: 0 if all data is intact, 1 if data is damaged or missing, 2 if the check failed.
`;

const Exit = { Whole: 0, Damaged: 1, Unknown: 2 } as const;

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`verify: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = Exit.Unknown;
}

async function run(args: readonly string[]): Promise<number> {
  if (args.length === 0) return verify(configFromEnvironment());
  const asked = args.length === 1 && (args[0] === '--help' || args[0] === '-h');
  (asked ? process.stdout : process.stderr).write(asked ? USAGE : `verify: takes no arguments\n\n${USAGE}`);
  return asked ? Exit.Whole : Exit.Unknown;
}

async function verify({ store, dataDir }: Config): Promise<number> {
  const where = `DATA_DIR ${JSON.stringify(dataDir)}`;
  if (store !== 'embedded') {
    throw new Error(
      `verify checks only the embedded store, but the settings choose Redis; to check ${where}, set STORE=embedded`,
    );
  }
  const { filters, refusal } = await verifyDirectory(dataDir).catch((cause: unknown) => {
    throw new Error(`${where}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  });
  if (refusal !== undefined) {
    process.stdout.write(`${where}: the service will not start: ${refusal}\n`);
    return Exit.Damaged;
  }
  for (const { name, kind, whole } of filters) {
    const verdict = whole
      ? 'intact'
      : 'part of it is missing; clear or delete it, or restore a copy of the directory';
    process.stdout.write(`${kind} ${name}: ${verdict}\n`);
  }
  const lost = filters.filter(({ whole }) => !whole).length;
  process.stdout.write(`${where}: ${filters.length - lost} intact, ${lost} damaged\n`);
  return lost === 0 ? Exit.Whole : Exit.Damaged;
}
