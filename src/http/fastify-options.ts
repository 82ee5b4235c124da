import { LogController, type FastifyServerOptions } from 'fastify';
import type { Logger } from 'pino';
import { answerClientError } from './client-error.js';
import { RequestLogger } from '../logging/request-logger.js';
import { contextOf, nextRequestId } from '../request/context.js';
import type { Reply, Request } from '../request/request.js';
import type { Headers } from './security-headers.js';

/**
 * Parameters may be longer than any name, so that an overlong name gets the error for names, not the one for unknown
 * routes.
 */
export const ROUTER_OPTIONS = { maxParamLength: 1_024 };

/** Answers an error as a problem. */
export type AnswerError = (error: unknown, request: Request, reply: Reply) => void;

/**
 * HTTP server settings that don't depend on the environment. `answer` handles errors that occur before routing, and
 * adds `headers` to their answers.
 */
export function fastifyOptions(logger: Logger, headers: Headers, answer: AnswerError): FastifyServerOptions {
  return {
    loggerInstance: logger,
    // The service logs requests itself, at debug level. See request-hooks.ts.
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (parent, bindings, _, raw) => {
      const { trace } = contextOf(raw);
      return new RequestLogger(parent, trace ? { ...bindings, traceId: trace.traceId } : bindings);
    },
    genReqId: nextRequestId,
    routerOptions: ROUTER_OPTIONS,
    // Body readers have their own timeouts, and streams may last as long as they progress.
    requestTimeout: 0,
    // The hooks refuse requests during shutdown, with a problem.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => answer(error, request, reply.headers(headers)),
    clientErrorHandler: (error, socket) => answerClientError(error, socket, headers),
  };
}
