import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { configFromEnvironment, type Config } from './config/config.js';
import { ApiKeys } from './auth/api-keys.js';
import { startFailure } from './start-failure.js';
import { Store } from './store/store.token.js';

/**
 * Both flags keep full collections rare. V8 counts request buffers as heap growth. Without the first flag, dead objects
 * in the old generation keep such buffers alive. Without the second, V8 starts a full collection after every hundred
 * batches. docs/decisions.md has the measurements.
 */
const V8_FLAGS = '--no-allocation-site-pretenuring --heap-growing-percent=200';

async function main(): Promise<void> {
  setFlagsFromString(V8_FLAGS);
  const config = configFromEnvironment();
  // Imported here, because the frameworks take a second to load, and the user should hear about an invalid setting
  // before that.
  const { createApp } = await import('./app.setup.js');
  const { shutdownOnSignals } = await import('./http/shutdown.js');
  const { RespServer } = await import('./resp/resp-server.js');
  const app = await createApp(config);
  shutdownOnSignals(app, config.shutdownGraceMs);
  const resp = app.get(RespServer);
  try {
    await app.listen(config.port, config.host);
    await resp.listen();
  } catch (error) {
    await app.close();
    throw error;
  }
  announce(app, config, resp.port);
  await warnOfStore(app.get<Store>(Store));
  if (config.auth === 'keys' && !config.oidc) await warnOfNoKeys(app.get(ApiKeys));
}

/** Prints where the service listens, for people. Logs are for machines. */
function announce(app: NestFastifyApplication, config: Config, respPort: number | undefined): void {
  const { address, family, port } = app.getHttpServer().address() as AddressInfo;
  const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  const where = config.store === 'embedded' ? `embedded store in ${config.dataDir}` : 'Redis store';
  process.stdout.write(`Unseen is listening on ${url}, ${where}; docs: ${url}/docs\n`);
  if (respPort !== undefined) process.stdout.write(`The Redis protocol is open on port ${respPort}\n`);
  if (config.auth === 'none') {
    process.stderr.write(
      'WARNING: AUTH=none gives everyone who can reach this address full access: read, change and delete.\n',
    );
  }
}

/** Warns if the store is not ready. The service then answers 503, and recovers without a restart. */
async function warnOfStore(store: Store): Promise<void> {
  const { ready, reason = 'reason unknown', warnings } = await store.readiness();
  const complaints = ready
    ? warnings
    : [`the store is not ready (${reason}); until it is, the service answers 503`];
  for (const complaint of complaints) process.stderr.write(`WARNING: ${complaint}\n`);
}

/** Warns if keys are required but there are none, because the first key can't be created over HTTP. */
async function warnOfNoKeys(keys: ApiKeys): Promise<void> {
  // If the store is not ready, the warning about that is enough.
  if (await keys.any().catch(() => true)) return;
  process.stderr.write(
    'WARNING: AUTH=keys, but no API key exists, so the service answers 401 to every request. Create one: ' +
      'npm run keys -- create --name ops --scope admin (with the embedded store, stop the service first).\n',
  );
}

main().catch((error: unknown) => {
  process.stderr.write(`Unseen cannot start: ${startFailure(error)}\n`);
  process.exit(1);
});
