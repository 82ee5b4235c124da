import type { FastifyInstance } from 'fastify';
import type { AuditLog } from '../audit/audit-log.js';
import { discard } from '../http/discard.js';
import { whenOver } from '../http/exchange-end.js';
import type { Authenticator } from './authenticator.js';
import { authorise } from './authorise.js';
import { Unauthenticated } from './unauthenticated.js';

/**
 * Finds out who asks, and whether they may, before anything of a body is read; and has admin calls audited. From now on
 * no route can be registered that does not say who may use it.
 */
export function useAuthentication(
  server: FastifyInstance,
  authenticator: Authenticator,
  audit: AuditLog,
): void {
  server.decorateRequest('principal', undefined);
  server.decorateRequest('auditTarget', undefined);
  server.addHook('onRoute', ({ url, config }) => {
    if (config?.access === undefined)
      throw new Error(`route ${url} does not say who may use it (config.access)`);
  });
  server.addHook('onRequest', async (request, reply) => {
    const { access } = request.routeOptions.config;
    if (access === 'public') return;
    try {
      const principal = await authenticator.authenticate(request.headers.authorization);
      request.principal = principal;
      // Not on response: Fastify says nothing of an answer whose client left before it was out.
      if (access === 'admin') {
        whenOver(request.raw, reply.raw, (answered) => {
          audit.adminCall(principal, request, answered ? reply.statusCode : undefined);
        });
      }
      authorise(principal, request);
    } catch (error) {
      discard(request.raw);
      if (error instanceof Unauthenticated) audit.failedAuthentication(request, error.reason);
      throw error;
    }
  });
}
