import type { AddressInfo } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { configFromEnvironment, type Config } from './config.js';
import { startFailure } from './start-failure.js';

async function main(): Promise<void> {
  const config = configFromEnvironment();
  // Only now: the frameworks take a second to load, and a mistake in a setting shows at once.
  const { createApp } = await import('./app.setup.js');
  const { shutdownOnSignals } = await import('./health/shutdown.js');
  const app = await createApp(config);
  shutdownOnSignals(app, config.shutdownGraceMs);
  try {
    await app.listen(config.port, config.host);
  } catch (error) {
    await app.close();
    throw error;
  }
  announce(app, config);
}

/** For people; logs are for machines. */
function announce(app: NestFastifyApplication, config: Config): void {
  const { address, family, port } = app.getHttpServer().address() as AddressInfo;
  const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  const where = config.store === 'embedded' ? `embedded store in ${config.dataDir}` : 'Redis store';
  process.stdout.write(`Unseen listens on ${url}, ${where}; docs: ${url}/docs\n`);
  if (config.auth === 'none') {
    process.stderr.write(
      'WARNING: AUTH=none, so everyone who can reach this address may read, change and delete everything.\n',
    );
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`Unseen cannot start: ${startFailure(error)}\n`);
  process.exit(1);
});
