import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { Asset } from '../assets/asset.js';
import { builtDashboard } from './built-dashboard.js';
import { encodingFor } from './encoding.js';

/**
 * The page loads only its own built files and calls only this service. It has no inline code, and no page may frame it.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

// The page contains no callers' data, and asks for the key itself.
const OPEN = { config: { access: 'public', sharedAnswer: true } } as const;

/**
 * Serves `/dashboard` and the files that it loads. Clients may cache these forever, because their names change with
 * their contents.
 */
export function serveDashboard(server: FastifyInstance, logger: Logger): void {
  const built = builtDashboard();
  if (!built) {
    logger.warn('the dashboard is not built; run: npm run build');
    return;
  }
  for (const { path, file, type } of [
    { path: '/dashboard', file: built.page, type: 'text/html' },
    // The licences of the packages in the page: every copy of them must come with these.
    { path: '/dashboard/LICENSES.txt', file: built.licences, type: 'text/plain; charset=utf-8' },
  ]) {
    const asset = new Asset(file);
    server.get(path, OPEN, async (request, reply) => {
      const { bytes, tag } = await asset.read();
      void reply
        .header('content-security-policy', POLICY)
        .header('etag', tag)
        .header('cache-control', 'no-cache');
      if (request.headers['if-none-match'] === tag) return reply.code(304).send();
      return reply.type(type).send(bytes);
    });
  }
  server.get('/dashboard/', OPEN, (_, reply) => reply.redirect('../dashboard'));
  for (const { name, type, path, encodings } of built.assets) {
    const plain = new Asset(path);
    const encoded = new Map(encodings.map((encoding) => [encoding.name, new Asset(encoding.path)]));
    server.get(`/dashboard/assets/${name}`, OPEN, async (request, reply) => {
      const encoding = encodingFor(request.headers['accept-encoding'], [...encoded.keys()]);
      const { bytes } = await (encoded.get(encoding ?? '') ?? plain).read();
      void reply.header('cache-control', 'public, max-age=31536000, immutable').type(type);
      if (encoded.size > 0) void reply.header('vary', 'accept-encoding');
      if (encoding !== undefined) void reply.header('content-encoding', encoding);
      return reply.send(bytes);
    });
  }
}

/** Redirects browsers from `/` to the dashboard. For programs, `/` is still an unknown route. */
export function leadBrowsersToDashboard(server: FastifyInstance): void {
  if (!builtDashboard()) return;
  server.addHook('onRequest', (request, reply, done) => {
    const { method, url, headers } = request;
    const isBrowser = headers.accept?.includes('text/html') ?? false;
    if (url === '/' && method === 'GET' && isBrowser)
      void reply.header('vary', 'accept').redirect('dashboard');
    else done();
  });
}
