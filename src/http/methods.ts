import type { FastifyInstance, RouteOptions } from 'fastify';
import { ProblemError } from '../errors/problem.js';

/**
 * Answers 405 with Allow for the methods that a known path does not take, where Fastify would say 404. Call it before
 * routes are registered; the function it returns after all of them are.
 */
export function watchMethods(server: FastifyInstance): () => void {
  const methodsByUrl = new Map<string, Set<string>>();
  server.addHook('onRoute', ({ url, method }: RouteOptions) => {
    const methods = methodsByUrl.get(url) ?? new Set();
    for (const one of [method].flat()) methods.add(one);
    methodsByUrl.set(url, methods);
  });
  return () => {
    for (const [url, methods] of [...methodsByUrl]) {
      const allow = [...methods].sort().join(', ');
      const refuse = (): never => {
        throw new ProblemError('METHOD_NOT_ALLOWED', `this path takes ${allow}`, { headers: { allow } });
      };
      const others = server.supportedMethods.filter((method) => !methods.has(method));
      // On request: before a body would be parsed. The handler is never reached.
      if (others.length > 0) server.route({ method: others, url, onRequest: refuse, handler: refuse });
    }
  };
}
