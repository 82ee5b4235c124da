import cors, { type FastifyCorsOptions } from '@fastify/cors';
import type { FastifyInstance } from 'fastify';
import type { AnswerError } from './fastify-options.js';

const SHARED: FastifyCorsOptions = {
  origin: true,
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
  allowedHeaders: ['Authorization', 'Content-Type', 'Idempotency-Key'],
  exposedHeaders: ['Idempotency-Key', 'Location', 'Retry-After', 'X-Request-Id'],
  // In seconds.
  maxAge: 600,
};

/**
 * Allows pages from these origins to read answers. All other origins get the same answers as without CORS, which
 * browsers don't show to the page. `answer`: see fastifyOptions.
 */
export async function useCors(
  server: FastifyInstance,
  origins: readonly string[],
  answer: AnswerError,
): Promise<void> {
  if (origins.length === 0) return;
  // The library adds its OPTIONS route before the application has set its error handler.
  server.addHook('onRoute', (route) => {
    if (route.url === '*') route.errorHandler = answer;
  });
  await server.register(cors, {
    delegator: ({ headers }, answer) => {
      const allowed = headers.origin !== undefined && origins.includes(headers.origin);
      // OPTIONS without this header isn't a preflight request, and is treated like any other request.
      const preflight = headers['access-control-request-method'] !== undefined;
      answer(null, allowed ? { ...SHARED, preflight } : { origin: false });
    },
  });
}
