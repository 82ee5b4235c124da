import type { FastifyInstance } from 'fastify';
import { ProblemError } from '../errors/problem.js';

/** A path that is known: its pattern's parts, and the methods it takes. */
interface KnownPath {
  readonly parts: readonly string[];
  readonly methods: Set<string>;
}

/**
 * Answers 405 with Allow for the methods that a known path does not take, where Fastify would say 404, before a body is
 * read. Call it before routes are registered, and after the hooks that find out who may know of them. A route for each
 * other method of each path would say the same, and cost a fifth of the time of a start.
 */
export function refuseOtherMethods(server: FastifyInstance): void {
  const known = new Map<string, KnownPath>();
  server.addHook('onRoute', ({ url, method }) => {
    const path = known.get(url) ?? { parts: url.split('/'), methods: new Set() };
    for (const one of [method].flat()) path.methods.add(one);
    known.set(url, path);
  });
  server.addHook('onRequest', (request, _reply, done) => {
    // CORS has a route of its own for OPTIONS of any path.
    if (!request.is404 && request.routeOptions.url !== '*') {
      done();
      return;
    }
    const parts = partsOf(request.url);
    // A name may be the same as a fixed part of a path: /v1/filters/import is a filter, too.
    const methods = [...known.values()]
      .filter((path) => takes(path, parts))
      .flatMap((path) => [...path.methods]);
    const allow = [...new Set(methods)].sort().join(', ');
    const error = new ProblemError('METHOD_NOT_ALLOWED', `this path supports ${allow}`, {
      headers: { allow },
    });
    done(allow === '' ? undefined : error);
  });
}

/** Of the path, without its escapes. The framework has refused escapes that are broken. */
function partsOf(url: string): string[] {
  const [path = ''] = url.split(/[?#]/, 1);
  return path.split('/').map((part) => decodeURIComponent(part));
}

function takes({ parts }: KnownPath, given: readonly string[]): boolean {
  return (
    parts.length === given.length &&
    parts.every((part, i) => (part.startsWith(':') ? given[i] !== '' : part === given[i]))
  );
}
