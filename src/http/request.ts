import type { FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes of a JSON body, as they came: what an operation's fingerprint is made of. */
    rawBody: Buffer | undefined;
    /** The id of the request's operation, once it has one. */
    operationId: string | undefined;
  }

  interface FastifyInstance {
    /** How long a caller waits for an answer. */
    requestTimeoutMs: number;
  }

  interface FastifyContextConfig {
    /** The route changes something: it takes, makes and returns an operation id. */
    mutates?: boolean;
    /** The route takes NDJSON and text bodies, too. */
    streams?: boolean;
  }
}

export type Request = FastifyRequest;
export type Reply = FastifyReply;

/** The route's pattern, such as `/v1/filters/:name`; empty for an unknown path. */
export function routePattern(request: Request): string {
  return request.routeOptions.url ?? '';
}
