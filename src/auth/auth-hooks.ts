import type { FastifyInstance } from 'fastify';
import type { AuditLog } from '../audit/audit-log.js';
import { discard } from '../http/discard.js';
import { connectionOf } from '../http/connection.js';
import type { Reply, Request } from '../http/request.js';
import type { Authenticator } from './authenticator.js';
import { authorise } from './authorise.js';
import type { Principal } from './principal.js';
import { Unauthenticated } from './unauthenticated.js';

interface AuthWatchers {
  readonly audit: AuditLog;
  /** Told of credentials that are not taken, or no longer. */
  readonly onRejected: (authorization: string) => void;
}

/**
 * Finds out who asks, and whether they may, before anything of a body is read; and has admin calls audited. From now on
 * no route can be registered that does not say who may use it.
 */
export function useAuthentication(
  server: FastifyInstance,
  authenticator: Authenticator,
  { audit, onRejected }: AuthWatchers,
): void {
  server.decorateRequest('principal', undefined);
  server.decorateRequest('auditTarget', undefined);
  const audited = (request: Request, error: unknown): unknown => {
    if (!(error instanceof Unauthenticated)) return error;
    audit.failedAuthentication(request, error.reason);
    const { authorization } = request.headers;
    if (authorization !== undefined) onRejected(authorization);
    return error;
  };
  const auditCall = (principal: Principal, request: Request, reply: Reply, allowed: boolean): void => {
    // Not on response: Fastify says nothing of an answer whose client left before it was out.
    connectionOf(request.raw.socket).whenOver(request.raw, (answered) => {
      const status = answered ? reply.statusCode : undefined;
      if (allowed) audit.adminCall(principal, request, status);
      else audit.refusedAdminCall(principal, request, status);
    });
  };
  server.decorate('confirmCaller', async (request) => {
    if (!request.principal) return;
    await authenticator.confirm(request.principal).catch((error: unknown) => {
      throw audited(request, error);
    });
  });
  server.addHook('onRoute', ({ url, config }) => {
    if (config?.access === undefined)
      throw new Error(`route ${url} does not say who may use it (config.access)`);
  });
  server.addHook('onRequest', async (request, reply) => {
    const { access } = request.routeOptions.config;
    if (access === 'public') return;
    try {
      const principal = await authenticator.authenticate(request.raw.headersDistinct['authorization'] ?? []);
      request.principal = principal;
      let allowed = false;
      try {
        authorise(principal, request);
        allowed = true;
      } finally {
        if (access === 'admin') auditCall(principal, request, reply, allowed);
      }
    } catch (error) {
      discard(request.raw);
      throw audited(request, error);
    }
  });
}
