import type { IncomingMessage } from 'node:http';
import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import createRouter from 'find-my-way';
import { ROUTER_OPTIONS } from '../http/fastify-options.js';
import { announcedBody } from '../request/announced-body.js';
import { contextOf } from '../request/context.js';
import type { RequestKind } from './bounds.js';

/** The resources that a request needs, as far as its head and route show. */
export interface RequestClass {
  readonly kind: RequestKind;
  /** A JSON body's announced bytes. */
  readonly bytes: number;
  /** See FastifyContextConfig. */
  readonly sharedAnswer: boolean;
  /** The route's pattern. Undefined for an unknown path. */
  readonly route: string | undefined;
}

/** A route, as the router stores it. */
interface Known {
  readonly url: string;
  readonly config: FastifyContextConfig;
}

/**
 * The routes, for admission, which runs before the framework. It uses a second instance of the framework's router, with
 * the same routes. So it decodes and matches paths exactly as the framework does.
 */
export class Routes {
  private readonly router = createRouter(ROUTER_OPTIONS);

  /** `maxBodyBytes` limits JSON bodies. */
  constructor(private readonly maxBodyBytes: number) {}

  /**
   * Makes each route keep its request's permit while its controller works, even if the client has left. Call it before
   * routes are registered, because it wraps their handlers. The framework's interceptors would also work, but take a
   * fifth of the CPU time of a small request.
   */
  watch(server: FastifyInstance): void {
    server.addHook('onRoute', (route) => {
      const { method, url, config = {}, handler } = route;
      const known: Known = { url, config };
      for (const one of [method].flat()) {
        this.router.on(one as createRouter.HTTPMethod, url, () => undefined, known);
      }
      route.handler = function (request, reply) {
        const { permit } = contextOf(request.raw);
        if (permit === undefined) return handler.call(this, request, reply);
        return permit.during<unknown>(async () => await handler.call(this, request, reply));
      };
    });
  }

  /**
   * Classifies a request. An export is a stream. So is a body that isn't JSON, if the route accepts one: the service
   * reads it in blocks, and only the bytes in memory count. A JSON body above `maxBodyBytes` is refused unread.
   */
  classOf(request: Pick<IncomingMessage, 'method' | 'url' | 'headers'>): RequestClass {
    const { method = '', url = '', headers } = request;
    const found = this.router.find(method as createRouter.HTTPMethod, url);
    const { url: route, config } = (found?.store as Known | undefined) ?? UNKNOWN;
    const { sharedAnswer = false } = config;
    if (config.probe) return { kind: 'probes', bytes: 0, sharedAnswer, route };
    if (config.exports) return { kind: 'streams', bytes: 0, sharedAnswer, route };
    const body = announcedBody(request);
    if (body === 'other' && (config.batch || config.takesExports)) {
      return { kind: 'streams', bytes: 0, sharedAnswer, route };
    }
    const bytes = body === 'json' ? Number(headers['content-length'] ?? 0) : 0;
    return { kind: 'requests', bytes: bytes > this.maxBodyBytes ? 0 : bytes, sharedAnswer, route };
  }
}

const UNKNOWN: Partial<Known> & Pick<Known, 'config'> = { config: {} };
