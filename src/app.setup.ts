import 'reflect-metadata';
import type { RequestListener } from 'node:http';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import { AuditLog } from './audit/audit-log.js';
import { useAuthentication } from './auth/auth-hooks.js';
import { Authenticator } from './auth/authenticator.js';
import type { Config } from './config.js';
import { ProblemFilter } from './errors/problem.filter.js';
import { Lifecycle } from './health/lifecycle.js';
import { useBodyParsers } from './http/body.js';
import { useCors } from './http/cors.js';
import { fastifyOptions } from './http/fastify-options.js';
import { watchMethods } from './http/methods.js';
import { useRequestHooks } from './http/request-hooks.js';
import { securityHeaders } from './http/security-headers.js';
import { createHttpServer } from './http/server.js';
import { createLogger, NestLogger } from './logging/logger.js';
import { Metrics } from './metrics/metrics.js';
import { serveDocsPage } from './openapi/docs-page.js';
import { serveDocument } from './openapi/document.js';
import { boundsOf } from './overload/bounds.js';
import { countByCaller } from './overload/caller-hook.js';
import { Callers } from './overload/callers.js';
import { Gate } from './overload/gate.js';
import { InFlight } from './overload/in-flight.js';
import { RouteConfigs } from './overload/route-configs.js';
import { keepSlotsWhileWorking } from './overload/work-hook.js';
import { RateLimit } from './rate-limit/rate-limit.js';
import { useRateLimit } from './rate-limit/rate-limit-hook.js';

/** The service as main.ts and the tests start it: complete, but not listening yet. */
export async function createApp(config: Config): Promise<NestFastifyApplication> {
  const logger = createLogger(config);
  const headers = securityHeaders();
  const inFlight = new InFlight(boundsOf(config));
  let isOpen = (): boolean => false;
  const callers = new Callers(() => isOpen());
  const routes = new RouteConfigs();
  const { maxBodyBytes } = config;
  const gate = new Gate(inFlight, { headers, logger, maxBodyBytes, callers, routes });
  const adapter = new FastifyAdapter({
    ...fastifyOptions(logger, headers, (error, request, reply) =>
      app.get(ProblemFilter).answer(error, request, reply),
    ),
    serverFactory: (handle: RequestListener) => createHttpServer(handle, gate, config),
  });
  const root = AppModule.with(config, logger, inFlight);
  const app = await NestFactory.create<NestFastifyApplication>(root, adapter, {
    logger: new NestLogger(logger),
    bodyParser: false,
    abortOnError: false,
  });
  app.useGlobalFilters(app.get(ProblemFilter));
  const server = adapter.getInstance();
  keepSlotsWhileWorking(server);
  server.decorate('requestTimeoutMs', config.requestTimeoutMs);
  server.decorateRequest('operationId', undefined);
  useBodyParsers(server, config);
  const watchers = { lifecycle: app.get(Lifecycle), metrics: app.get(Metrics) };
  useRequestHooks(server, { config, headers, logger, ...watchers });
  // Before authentication: browsers ask without credentials whether they may send them.
  await useCors(server, config.corsOrigins);
  const authenticator = app.get(Authenticator);
  isOpen = () => authenticator.isOpen;
  useAuthentication(server, authenticator, {
    audit: app.get(AuditLog),
    onRejected: (authorization) => callers.forget(authorization),
  });
  countByCaller(server, callers);
  const rateLimit = app.get<RateLimit | null>(RateLimit);
  if (rateLimit) useRateLimit(server, rateLimit);
  routes.watch(server);
  // After CORS, whose own route is for paths of all kinds.
  const refuseOtherMethods = watchMethods(server);
  serveDocument(app);
  serveDocsPage(server);
  await app.init();
  refuseOtherMethods();
  return app;
}
