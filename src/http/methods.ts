import type { FastifyInstance } from 'fastify';
import { ProblemError } from '../errors/problem.js';

/** A known path: the parts of its pattern, and its methods. */
interface KnownPath {
  readonly parts: readonly string[];
  readonly methods: Set<string>;
}

/**
 * Answers 405 with Allow, before reading the body, if a known path doesn't have the method. Fastify would answer 404.
 * Call it before routes are registered, and after the hooks that decide whether the caller may know the path. Routes
 * for all other methods of each path would have the same effect, but take a fifth of the start time.
 */
export function refuseOtherMethods(server: FastifyInstance): void {
  const known = new Map<string, KnownPath>();
  server.addHook('onRoute', ({ url, method }) => {
    const path = known.get(url) ?? { parts: url.split('/'), methods: new Set() };
    for (const one of [method].flat()) path.methods.add(one);
    known.set(url, path);
  });
  server.addHook('onRequest', (request, _reply, done) => {
    // CORS adds its own OPTIONS route for any path.
    if (!request.is404 && request.routeOptions.url !== '*') {
      done();
      return;
    }
    const parts = partsOf(request.url);
    // A name may equal a fixed part of a path: /v1/filters/import is also a filter.
    const methods = [...known.values()]
      .filter((path) => takes(path, parts))
      .flatMap((path) => [...path.methods]);
    const allow = [...new Set(methods)].sort().join(', ');
    const error = new ProblemError(
      'METHOD_NOT_ALLOWED',
      `this path supports ${allow}, not ${request.method}`,
      {
        headers: { allow },
      },
    );
    done(allow === '' ? undefined : error);
  });
}

/** The path's parts, unescaped. The framework has already refused invalid escapes. */
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
