/** A small CMS with articles from people and from a crawler, and one visited set for both. */
import { Cms } from './cms.js';
import { readOptions, USAGE, type Options } from './options.js';
import { createServer } from './server.js';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

function log(text: string): void {
  console.error(text);
}

async function run(options: Options): Promise<void> {
  const cms = Cms.start(options, log);
  const server = createServer(cms, options.liveMs);
  try {
    const address = await server.listen({ host: '127.0.0.1', port: options.port });
    console.log(`the CMS is at ${address}`);
    // After the first signal, the default handler ends the program immediately.
    await new Promise<void>((resolve) => {
      for (const signal of SIGNALS) process.once(signal, () => resolve());
    });
  } finally {
    await server.close();
    await cms.stop();
  }
}

if (process.argv.includes('--help')) {
  console.log(USAGE);
  process.exit();
}
let options: Options;
try {
  options = readOptions(process.argv.slice(2));
} catch (error) {
  log(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  process.exit(2);
}
await run(options).catch((error: unknown) => {
  log(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
