import type { FastifyInstance } from 'fastify';
import { isLoopback } from '../config/loopback.js';
import { discard } from '../http/discard.js';
import { callerOf } from '../request/caller.js';
import { contextOf } from '../request/context.js';
import { ANONYMOUS, type Principal } from '../request/principal.js';
import type { Callers } from './callers.js';

/** Counts each request as its caller's, before a body is read. After authentication, which says who that is. */
export function countByCaller(server: FastifyInstance, callers: Callers): void {
  server.addHook('onRequest', (request, _reply, done) => {
    const { permit, principal } = contextOf(request.raw);
    // On public routes nobody is asked who they are: what the head said of it is kept.
    if (!permit || !principal) {
      done();
      return;
    }
    const caller = countedCaller(principal, request.ip);
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

/** Who is counted for a request; undefined without credentials on this machine, where all have one address. */
export function countedCaller(principal: Principal | undefined, ip: string): string | undefined {
  const known = principal !== undefined && principal.id !== ANONYMOUS.id;
  return known || !isLoopback(ip) ? callerOf(principal, ip) : undefined;
}
