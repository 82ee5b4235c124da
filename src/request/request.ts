import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '#store';
import type { Access } from './scope.js';

/** What a route that takes a batch is about. */
export interface BatchConfig {
  /** As metrics name it. */
  readonly verb: string;
  /**
   * What its entries are: items by their bytes, URLs by their identity, or discoveries, which are URLs that may have a payload. The
   * one member of its JSON body has this name, of discoveries "urls".
   */
  readonly entries: 'items' | 'urls' | 'discoveries';
  /** Whether the request may say how long its URLs live: as ttlSeconds in the query, or in its JSON body. */
  readonly ttl?: boolean;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** How long a caller waits for an answer. */
    requestTimeoutMs: number;
    clock: Clock;
  }

  interface FastifyContextConfig {
    /** Who may use the route; every route says it. What is no route (an unknown path) is for principals of any scope. */
    access?: Access;
    /** Not for principals with a name prefix. */
    allNames?: boolean;
    /** The route changes something: it takes, makes and returns an operation id. */
    mutates?: boolean;
    /** The route takes a batch: as JSON, or as a stream of NDJSON or text. */
    batch?: BatchConfig;
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
