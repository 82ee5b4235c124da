import type { FastifyInstance } from 'fastify';
import { connectionOf } from '../http/connection.js';
import { discard } from '../http/discard.js';
import { contextOf } from '../request/context.js';
import { ANONYMOUS } from '../request/principal.js';
import type { Callers } from './callers.js';

/**
 * Charges each request to its caller, before its body is read. It runs after authentication, which identifies the
 * caller.
 */
export function countByCaller(server: FastifyInstance, callers: Callers): void {
  server.addHook('onRequest', (request, _reply, done) => {
    const { permit, principal } = contextOf(request.raw);
    // Public routes don't authenticate, so their requests stay charged to the caller that the head suggests.
    if (!permit || !principal) {
      done();
      return;
    }
    const { anonymous } = connectionOf(request.raw.socket);
    const caller = principal.id === ANONYMOUS.id ? anonymous : principal.id;
    if (caller === permit.caller) {
      done();
      return;
    }
    const { authorization } = request.headers;
    if (caller === principal.id && authorization !== undefined) callers.learn(authorization, caller);
    const problem = permit.chargeTo(caller);
    if (problem) discard(request.raw);
    done(problem);
  });
}
