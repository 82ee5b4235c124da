import type { Principal } from '../auth/principal.js';
import type { Access } from '../auth/scope.js';
import type { FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes of a JSON body, as they came: what an operation's fingerprint is made of. */
    rawBody: Buffer | undefined;
    /** The id of the request's operation, once it has one. */
    operationId: string | undefined;
    /** The caller; undefined on public routes. */
    principal: Principal | undefined;
    /** What the audit log says the call is about, where neither path nor JSON body do. */
    auditTarget: string | undefined;
  }

  interface FastifyInstance {
    /** How long a caller waits for an answer. */
    requestTimeoutMs: number;
    /** Throws once the credentials that a request was let in with are no longer accepted. */
    confirmCaller: (request: FastifyRequest) => Promise<void>;
  }

  interface FastifyContextConfig {
    /** Who may use the route; every route says it. An unknown path is answered to principals of any scope. */
    access?: Access;
    /** Not for principals with a name prefix. */
    allNames?: boolean;
    /** The route changes something: it takes, makes and returns an operation id. */
    mutates?: boolean;
    /** The route takes NDJSON and text bodies, too. */
    streams?: boolean;
    /** The route takes an export file. */
    takesExports?: boolean;
    /** The route answers an export file. */
    exports?: boolean;
    /** The route tells an orchestrator about the service: answered however busy it is, or on its way out. */
    probe?: boolean;
    /** The answer is the same for everyone, and one buffer is shared by all that wait for it to be read. */
    sharedAnswer?: boolean;
  }
}

export type Request = FastifyRequest;
export type Reply = FastifyReply;

/** The route's pattern, such as `/v1/filters/:name`; empty for an unknown path. */
export function routePattern(request: Request): string {
  return request.routeOptions.url ?? '';
}
