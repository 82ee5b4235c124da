import type { IncomingMessage } from 'node:http';
import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import createRouter from 'find-my-way';
import { ROUTER_OPTIONS } from '../http/fastify-options.js';
import { announcedBody } from '../request/announced-body.js';
import { contextOf } from '../request/context.js';
import type { RequestKind } from './bounds.js';

/** What a request asks for, as far as its head and its route say. */
export interface RequestClass {
  readonly kind: RequestKind;
  /** Of a JSON body, as announced. */
  readonly bytes: number;
  /** See FastifyContextConfig. */
  readonly sharedAnswer: boolean;
}

/**
 * The routes as admission knows them, before the framework has a request. By the framework's own router, told of the same
 * routes: it decodes and matches a path exactly as the framework will.
 */
export class Routes {
  private readonly router = createRouter(ROUTER_OPTIONS);

  /** `maxBodyBytes`: of a JSON body. */
  constructor(private readonly maxBodyBytes: number) {}

  /**
   * Has each route keep its request's permit while its controller works, also when its client is gone. Call it before
   * routes are registered: their handlers are wrapped. One of the framework's interceptors would do it, too, at a fifth of
   * the CPU time of a small request.
   */
  watch(server: FastifyInstance): void {
    server.addHook('onRoute', (route) => {
      const { method, url, config = NONE, handler } = route;
      for (const one of [method].flat()) {
        this.router.on(one as createRouter.HTTPMethod, url, () => undefined, config);
      }
      route.handler = function (request, reply) {
        const { permit } = contextOf(request.raw);
        if (permit === undefined) return handler.call(this, request, reply);
        return permit.during<unknown>(async () => await handler.call(this, request, reply));
      };
    });
  }

  /**
   * A body that is not JSON is a stream where the route takes any, read in blocks, and counted by what of it is held at a
   * time; so is an export, the other way round. A JSON body above `maxBodyBytes` is refused unread.
   */
  classOf(request: Pick<IncomingMessage, 'method' | 'url' | 'headers'>): RequestClass {
    const { method = '', url = '', headers } = request;
    const found = this.router.find(method as createRouter.HTTPMethod, url);
    const route = (found?.store as FastifyContextConfig | undefined) ?? NONE;
    const { sharedAnswer = false } = route;
    if (route.probe) return { kind: 'probes', bytes: 0, sharedAnswer };
    if (route.exports) return { kind: 'streams', bytes: 0, sharedAnswer };
    const body = announcedBody(request);
    if (body === 'other' && (route.batch || route.takesExports)) {
      return { kind: 'streams', bytes: 0, sharedAnswer };
    }
    const bytes = body === 'json' ? Number(headers['content-length'] ?? 0) : 0;
    return { kind: 'requests', bytes: bytes > this.maxBodyBytes ? 0 : bytes, sharedAnswer };
  }
}

/** Of a path that is no route. */
const NONE: FastifyContextConfig = {};
