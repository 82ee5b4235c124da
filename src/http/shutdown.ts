import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SYSTEM_CLOCK } from '#store';
import { Tracing } from '../tracing/tracing.js';
import { Lifecycle } from './lifecycle.js';

/** How often to close idle connections while the last requests finish. */
const REAP_MS = 50;

/** Time for sending the streams' last lines. */
const LAST_LINES_MS = 500;

/** Part of the grace time that the collector of traces gets for the last spans, if the requests leave that much. */
const PART_FOR_TRACES = 0.2;

/**
 * Stops accepting requests, and gives requests in flight at most `graceMs` to finish. Then ends the remaining streams
 * with a last line, closes the connections, closes the store, and sends the last traces. `close()` alone would wait for
 * keep-alive connections.
 */
export async function shutDown(app: NestFastifyApplication, graceMs: number): Promise<void> {
  const end = SYSTEM_CLOCK.monotonic() + graceMs + LAST_LINES_MS;
  const lifecycle = app.get(Lifecycle);
  lifecycle.beginShutdown();
  const server = app.getHttpServer();
  const reaper = setInterval(() => server.closeIdleConnections(), REAP_MS);
  // The first timer sets the second one, so that a process that was blocked for longer than both still sends the last
  // lines.
  let timer = setTimeout(() => {
    lifecycle.endGrace();
    timer = setTimeout(() => server.closeAllConnections(), LAST_LINES_MS);
  }, graceMs);
  try {
    await app.close();
  } finally {
    clearInterval(reaper);
    clearTimeout(timer);
  }
  const left = end - SYSTEM_CLOCK.monotonic();
  await app.get<Tracing | null>(Tracing)?.stop(Math.min(PART_FOR_TRACES * graceMs, left));
}

/** SIGTERM and SIGINT shut down the service and exit with 0. A second signal exits immediately with 1. */
export function shutdownOnSignals(app: NestFastifyApplication, graceMs: number): void {
  let ending = false;
  const onSignal = (): void => {
    if (ending) process.exit(1);
    ending = true;
    shutDown(app, graceMs).then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`shutdown failed: ${error instanceof Error ? error.stack : String(error)}\n`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}
