import cors, { type FastifyCorsOptions } from '@fastify/cors';
import type { FastifyInstance } from 'fastify';
import type { AnswerError } from './fastify-options.js';

const SHARED: FastifyCorsOptions = {
  origin: true,
  methods: ['GET', 'HEAD', 'POST', 'DELETE'],
  allowedHeaders: ['Authorization', 'Content-Type', 'Idempotency-Key'],
  exposedHeaders: ['Idempotency-Key', 'Location', 'Retry-After', 'X-Request-Id'],
  // Seconds.
  maxAge: 600,
};

/**
 * Lets pages of these origins read the answers; browsers keep those of all others from it, as if this were not there.
 * `answer`: see fastifyOptions.
 */
export async function useCors(
  server: FastifyInstance,
  origins: readonly string[],
  answer: AnswerError,
): Promise<void> {
  if (origins.length === 0) return;
  // The library's route for OPTIONS of any path comes before the application has set how errors are answered.
  server.addHook('onRoute', (route) => {
    if (route.url === '*') route.errorHandler = answer;
  });
  await server.register(cors, {
    delegator: ({ headers }, answer) => {
      const allowed = headers.origin !== undefined && origins.includes(headers.origin);
      // An OPTIONS that asks for no permission is answered like any other.
      const preflight = headers['access-control-request-method'] !== undefined;
      answer(null, allowed ? { ...SHARED, preflight } : { origin: false });
    },
  });
}
