import { METHODS } from 'node:http';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { ProblemError } from '../errors/problem.js';

/**
 * Answers 405 with Allow for the methods that a known path does not take, where Fastify would say 404. Call it before
 * routes are registered; the function it returns after all of them are.
 */
export function watchMethods(server: FastifyInstance): () => void {
  // Fastify takes eight of them unasked. What a CONNECT asks for is no path.
  for (const method of METHODS) {
    if (method !== 'CONNECT' && !server.supportedMethods.includes(method)) server.addHttpMethod(method);
  }
  const methodsByUrl = new Map<string, Set<string>>();
  server.addHook('onRoute', ({ url, method }: RouteOptions) => {
    const methods = methodsByUrl.get(url) ?? new Set();
    for (const one of [method].flat()) methods.add(one);
    methodsByUrl.set(url, methods);
  });
  return () => {
    // Copies, since the routes below are told to the hook above, too.
    const known = [...methodsByUrl].map(([url, methods]) => [url, new Set(methods)] as const);
    for (const [url, own] of known) {
      // A name may be the same as a fixed part of a path: /v1/filters/import is a filter, too.
      const methods = new Set(own);
      for (const [other, theirs] of known) if (matches(other, url)) theirs.forEach((one) => methods.add(one));
      const allow = [...methods].sort().join(', ');
      const refuse = (): never => {
        throw new ProblemError('METHOD_NOT_ALLOWED', `this path takes ${allow}`, { headers: { allow } });
      };
      const others = server.supportedMethods.filter((method) => !methods.has(method));
      // On request: before a body would be parsed. The handler is never reached.
      if (others.length > 0)
        server.route({ method: others, url, config, onRequest: refuse, handler: refuse });
    }
  };
}

/** A caller that may read may also see which methods a path takes. */
const config = { access: 'read' } as const;

/** Whether a pattern with parameters takes a path without any, too. */
function matches(pattern: string, path: string): boolean {
  if (!pattern.includes(':') || path.includes(':')) return false;
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  return (
    wanted.length === given.length && wanted.every((part, i) => part.startsWith(':') || part === given[i])
  );
}
