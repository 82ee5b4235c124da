import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '#store';
import type { Access } from './scope.js';

export type BatchOption = 'ttlSeconds' | 'priority' | 'delaySeconds' | 'onlyAbsent';

/** The batch that a route accepts. */
export interface BatchConfig {
  /** The name in metrics. */
  readonly verb: string;
  /**
   * The kind of entries: items, compared by their bytes; URLs, compared by their URL keys; or discoveries, which are
   * URLs that may have a payload. The JSON body's only member has this name, except that discoveries use "urls".
   */
  readonly entries: 'items' | 'urls' | 'discoveries';
  /** The options that the request may have, in the query or in the JSON body. */
  readonly options?: readonly BatchOption[];
}

/** A controller's method that executes a batch: `(name, request)`. `controller` is the class. */
export interface BatchMethod {
  readonly controller: abstract new (...args: never[]) => unknown;
  readonly name: string;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** How long a caller waits for an answer. */
    requestTimeoutMs: number;
    clock: Clock;
  }

  interface FastifyContextConfig {
    /**
     * The callers that may use the route. Every route has this member. An unknown path has none, and allows principals
     * with any scope.
     */
    access?: Access;
    /** Principals with a name prefix may not use the route. */
    allNames?: boolean;
    /** The route changes data, so it accepts, generates and returns an operation id. */
    mutates?: boolean;
    /** The route may wait before it answers. `waitSeconds` in its body doesn't change its effect. */
    waits?: boolean;
    /** The route accepts a batch, as JSON or as a stream of NDJSON or text. */
    batch?: BatchConfig;
    /** Executes JSON batches without Nest's pipeline. See batches/direct-batches.ts. */
    direct?: BatchMethod;
    /** The route accepts an export file. */
    takesExports?: boolean;
    /** The route answers with an export file. */
    exports?: boolean;
    /** The route reports on the service to an orchestrator. Works even under overload and during shutdown. */
    probe?: boolean;
    /** All callers get the same answer, from one shared buffer. */
    sharedAnswer?: boolean;
  }
}

export type Request = FastifyRequest;
export type Reply = FastifyReply;
