import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { OriginGuard } from './origin-guard.js';
import type { Config } from '../config/config.js';
import { ProblemError } from '../errors/problem.js';
import type { Lifecycle } from './lifecycle.js';
import type { Metrics } from '../metrics/metrics.js';
import { idsOf } from '../request/context.js';
import type { Headers } from './security-headers.js';

interface Watchers {
  readonly config: Config;
  /** Headers on every answer. */
  readonly headers: Headers;
  readonly logger: Logger;
  readonly lifecycle: Lifecycle;
  readonly metrics: Metrics;
}

/** Adds the hooks for every request, even for unknown paths: before its body is read, and after its answer is sent. */
export function useRequestHooks(
  server: FastifyInstance,
  { config, headers, logger, lifecycle, metrics }: Watchers,
): void {
  const guard = new OriginGuard(config);
  server.addHook('onRequest', (request, reply, done) => {
    reply.headers(headers).header('x-request-id', request.id);
    guard.check(request.raw, request.routeOptions.config.probe);
    if (lifecycle.shuttingDown) {
      reply.raw.shouldKeepAlive = false;
      if (!request.routeOptions.config.probe)
        throw new ProblemError('OVERLOADED', 'the service is shutting down; retry');
    }
    done();
  });
  server.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    metrics.countRequest(request.method, route, reply.statusCode, reply.elapsedTime / 1_000);
    if (logger.isLevelEnabled('debug')) {
      const { method } = request;
      const line = { ...idsOf(request), method, route, status: reply.statusCode, ms: reply.elapsedTime };
      logger.debug(line, 'answered');
    }
    done();
  });
}
