import type { IncomingMessage } from 'node:http';
import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import createRouter from 'find-my-way';
import { ROUTER_OPTIONS } from '../http/fastify-options.js';

/**
 * The configuration of the route that a request will take, before the framework has the request. By the framework's own
 * router, told of the same routes: it decodes and matches a path exactly as the framework will.
 */
export class RouteConfigs {
  private readonly router = createRouter(ROUTER_OPTIONS);

  /** Call it before routes are registered. */
  watch(server: FastifyInstance): void {
    server.addHook('onRoute', ({ method, url, config = {} }) => {
      for (const one of [method].flat()) {
        this.router.on(one as createRouter.HTTPMethod, url, () => undefined, config);
      }
    });
  }

  /** Empty if there is no such route. */
  of({ method = '', url = '' }: IncomingMessage): FastifyContextConfig {
    const found = this.router.find(method as createRouter.HTTPMethod, url);
    return (found?.store as FastifyContextConfig | undefined) ?? NONE;
  }
}

const NONE: FastifyContextConfig = {};
