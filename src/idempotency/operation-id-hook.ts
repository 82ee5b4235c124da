import type { FastifyInstance } from 'fastify';
import { operationIdOf } from './operations.js';

/**
 * Puts the operation's id into the answers of mutating routes, errors too: with it a request may be sent again. Call it
 * before routes are registered.
 */
export function returnOperationIds(server: FastifyInstance): void {
  server.addHook('onRoute', (route) => {
    if (!route.config?.mutates) return;
    route.onSend = [
      ...[route.onSend ?? []].flat(),
      (request, reply, payload, done) => {
        const id = operationIdOf(request);
        if (id !== undefined) reply.header('idempotency-key', id);
        done(null, payload);
      },
    ];
  });
}
