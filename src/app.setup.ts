import 'reflect-metadata';
import type { RequestListener } from 'node:http';
import type { Logger } from 'pino';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import { AuditLog } from './auth/audit-log.js';
import { useAuthentication } from './auth/auth-hooks.js';
import { Authenticator } from './auth/authenticator.js';
import { RequestAuthenticator } from './auth/request-authenticator.js';
import type { Config } from './config/config.js';
import { leadBrowsersToDashboard, serveDashboard } from './dashboard/dashboard-page.js';
import { ProblemFilter } from './http/problem.filter.js';
import { ConnectionLimit } from './http/connection-limit.js';
import { Lifecycle } from './http/lifecycle.js';
import { useBodyParsers } from './http/body.js';
import { runBatchesDirectly } from './batches/direct-batches.js';
import { BATCH_READERS } from './batches/body-readers.js';
import { registerAdmissionGauges } from './admission/admission-gauges.js';
import { returnOperationIds } from './idempotency/operations.js';
import { useCors } from './http/cors.js';
import { fastifyOptions, type AnswerError } from './http/fastify-options.js';
import { refuseOtherMethods } from './http/methods.js';
import { useRequestHooks } from './http/request-hooks.js';
import { securityHeaders } from './http/security-headers.js';
import { createHttpServer } from './http/server.js';
import { LineBudget } from './logging/line-budget.js';
import { createLogger, NestLogger } from './logging/logger.js';
import { Metrics } from './metrics/metrics.js';
import { registerSpanCounter } from './metrics/span-counter.js';
import { serveDocsPage } from './openapi/docs-page.js';
import { serveDocument } from './openapi/document.js';
import { Clock } from './store/clock.token.js';
import type { TracingSettings } from './tracing/settings.js';
import { Tracing } from './tracing/tracing.js';
import { boundsOf } from './admission/bounds.js';
import { countByCaller } from './admission/caller-hook.js';
import { Callers } from './admission/callers.js';
import { AdmissionControl } from './admission/admission-control.js';
import { InFlight } from './admission/in-flight.js';
import { Routes } from './admission/routes.js';
import { Turns } from './admission/turns.js';
import { RateLimit } from './admission/rate-limit.js';
import { useRateLimit } from './admission/rate-limit-hook.js';

/** Builds the complete service, as main.ts and the tests start it, but does not listen yet. */
export async function createApp(config: Config): Promise<NestFastifyApplication> {
  const logger = createLogger(config);
  const headers = securityHeaders();
  const inFlight = new InFlight(boundsOf(config));
  const callers = new Callers();
  const routes = new Routes(config.maxBodyBytes);
  const turns = new Turns();
  const connections = new ConnectionLimit(config.maxConnections);
  const tracing = config.tracing && (await startTracing(config.tracing, logger));
  const admission = new AdmissionControl(inFlight, { headers, logger, callers, routes, turns, tracing });
  const answer: AnswerError = (error, request, reply) => app.get(ProblemFilter).answer(error, request, reply);
  const adapter = new FastifyAdapter({
    ...fastifyOptions(logger, headers, answer),
    // The service has no Nest middleware, and Nest's engine for it would check every request.
    skipMiddie: true,
    serverFactory: (handle: RequestListener) => createHttpServer(handle, admission, connections, config),
  });
  const root = AppModule.with(config, logger, { inFlight, turns, connections, tracing });
  const app = await NestFactory.create<NestFastifyApplication>(root, adapter, {
    logger: new NestLogger(logger),
    bodyParser: false,
    abortOnError: false,
  });
  registerAdmissionGauges({ inFlight, turns, connections }, app.get(Metrics).registry);
  registerSpanCounter(tracing, app.get(Metrics).registry);
  app.useGlobalFilters(app.get(ProblemFilter));
  const server = adapter.getInstance();
  server.decorate('requestTimeoutMs', config.requestTimeoutMs);
  server.decorate('clock', app.get<Clock>(Clock));
  returnOperationIds(server);
  runBatchesDirectly(server, app);
  useBodyParsers(server, config, BATCH_READERS);
  const watchers = { lifecycle: app.get(Lifecycle), metrics: app.get(Metrics) };
  useRequestHooks(server, { config, headers, logger, ...watchers });
  // Before authentication: browsers send preflight requests without credentials.
  await useCors(server, config.corsOrigins, answer);
  // Also before authentication, because the dashboard itself asks the user for the key.
  leadBrowsersToDashboard(server);
  const authenticator = app.get(Authenticator);
  authenticator.watch((open) => {
    callers.open = open;
  });
  const requests = app.get(RequestAuthenticator);
  requests.whenRejected((authorization) => callers.forget(authorization));
  useAuthentication(server, authenticator, requests, app.get(AuditLog));
  countByCaller(server, callers);
  const rateLimit = app.get<RateLimit | null>(RateLimit);
  if (rateLimit) useRateLimit(server, rateLimit);
  // After the check of route declarations, so that routes rejected there are not added.
  routes.watch(server);
  // After CORS, which registers a route for all paths.
  refuseOtherMethods(server);
  serveDocument(app);
  serveDocsPage(server);
  serveDashboard(server, logger);
  await app.init();
  return app;
}

/** How often to log that the collector takes no spans. A busy service loses several messages a second. */
const LOST_SPANS_MS = 60_000;

/** Loads OpenTelemetry, which a service without traces never reads. */
async function startTracing(settings: TracingSettings, logger: Logger): Promise<Tracing> {
  const { openTelemetry } = await import('./tracing/open-telemetry.js');
  const lines = new LineBudget(1, LOST_SPANS_MS);
  const tracing = new Tracing(openTelemetry(settings), settings, (error) => {
    if (lines.take() === undefined) return;
    logger.warn({ err: error, spans: tracing.spans }, 'the collector takes no traces: spans are lost');
  });
  return tracing;
}
