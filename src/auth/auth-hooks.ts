import type { FastifyInstance } from 'fastify';
import { connectionOf } from '../http/connection.js';
import { discard } from '../http/discard.js';
import { contextOf } from '../request/context.js';
import { ANONYMOUS, type Principal } from '../request/principal.js';
import type { Reply, Request } from '../request/request.js';
import { auditedCall, type AuditLog } from './audit-log.js';
import type { Authenticator } from './authenticator.js';
import { authorise } from './authorise.js';
import type { RequestAuthenticator } from './request-authenticator.js';

/**
 * Authenticates and authorises each request before its body is read, and audits admin calls. From now on, registering a
 * route that doesn't declare its callers fails.
 */
export function useAuthentication(
  server: FastifyInstance,
  authenticator: Authenticator,
  requests: RequestAuthenticator,
  audit: AuditLog,
): void {
  const auditCall = (principal: Principal, request: Request, reply: Reply, allowed: boolean): void => {
    // Fastify's onResponse isn't used, because it doesn't run if the client leaves before the answer is complete.
    connectionOf(request.raw.socket).whenOver(request.raw, (answered) => {
      const status = answered ? reply.statusCode : undefined;
      const call = auditedCall(request);
      if (allowed) audit.adminCall(principal, call, status);
      else audit.refusedAdminCall(principal, call, status);
    });
  };
  server.addHook('onRoute', ({ url, config }) => {
    if (config?.access === undefined)
      throw new Error(`route ${url} does not declare its access (config.access)`);
  });
  server.addHook('onRequest', async (request, reply) => {
    const { access } = request.routeOptions.config;
    if (access === 'public') return;
    try {
      const principal = authenticator.isOpen() ? ANONYMOUS : await requests.identify(request);
      contextOf(request.raw).principal = principal;
      let allowed = false;
      try {
        authorise(principal, request);
        allowed = true;
      } finally {
        if (access === 'admin') auditCall(principal, request, reply, allowed);
      }
    } catch (error) {
      discard(request.raw);
      throw error;
    }
  });
}
