import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import type { Config } from './config.js';
import { ProblemFilter } from './errors/problem.filter.js';
import { Lifecycle } from './health/lifecycle.js';
import { useBodyParsers } from './http/body.js';
import { fastifyOptions } from './http/fastify-options.js';
import { watchMethods } from './http/methods.js';
import { useRequestHooks } from './http/request-hooks.js';
import { createLogger, NestLogger } from './logging/logger.js';
import { Metrics } from './metrics/metrics.js';
import { serveDocsPage } from './openapi/docs-page.js';
import { serveDocument } from './openapi/document.js';

/** The service as main.ts and the tests start it: complete, but not listening yet. */
export async function createApp(config: Config): Promise<NestFastifyApplication> {
  const logger = createLogger(config);
  const adapter = new FastifyAdapter(
    fastifyOptions(logger, (error, request, reply) => app.get(ProblemFilter).answer(error, request, reply)),
  );
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.with(config, logger), adapter, {
    logger: new NestLogger(logger),
    bodyParser: false,
    abortOnError: false,
  });
  app.useGlobalFilters(app.get(ProblemFilter));
  const server = adapter.getInstance();
  server.decorate('requestTimeoutMs', config.requestTimeoutMs);
  server.decorateRequest('operationId', undefined);
  const refuseOtherMethods = watchMethods(server);
  useBodyParsers(server, config);
  useRequestHooks(server, { config, logger, lifecycle: app.get(Lifecycle), metrics: app.get(Metrics) });
  serveDocument(app);
  serveDocsPage(server);
  await app.init();
  refuseOtherMethods();
  return app;
}
