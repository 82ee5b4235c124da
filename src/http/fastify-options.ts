import { LogController, type FastifyServerOptions } from 'fastify';
import type { Logger } from 'pino';
import { answerClientError } from './client-error.js';
import { RequestLogger } from '../logging/request-logger.js';
import { nextRequestId } from '../request/context.js';
import type { Reply, Request } from '../request/request.js';
import type { Headers } from './security-headers.js';

/** Parameters may be longer than any name, so that a long one is refused as a name and not as a route. */
export const ROUTER_OPTIONS = { maxParamLength: 1_024 };

/** Answers an error as a problem. */
export type AnswerError = (error: unknown, request: Request, reply: Reply) => void;

/**
 * Settings of the HTTP server that do not depend on the environment. `answer` takes errors met before routing; `headers`
 * go with them, too.
 */
export function fastifyOptions(logger: Logger, headers: Headers, answer: AnswerError): FastifyServerOptions {
  return {
    loggerInstance: logger,
    // Request lines are ours, at debug: see request-hooks.ts.
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (parent, bindings) => new RequestLogger(parent, bindings),
    genReqId: nextRequestId,
    routerOptions: ROUTER_OPTIONS,
    // Bodies are timed by their readers; streams may take as long as they move.
    requestTimeout: 0,
    // Refused in the hooks, as a problem.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => answer(error, request, reply.headers(headers)),
    clientErrorHandler: (error, socket) => answerClientError(error, socket, headers),
  };
}
