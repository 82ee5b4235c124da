import type { FastifyInstance } from 'fastify';
import { callerOf } from '../auth/caller.js';
import { ANONYMOUS } from '../auth/principal.js';
import { discard } from '../http/discard.js';
import { isLoopback } from '../http/loopback.js';
import type { Request } from '../http/request.js';
import type { Callers } from './callers.js';
import { slotOf } from './slots.js';

/** Counts each request as its caller's, before a body is read. After authentication, which says who that is. */
export function countByCaller(server: FastifyInstance, callers: Callers): void {
  server.addHook('onRequest', (request, _reply, done) => {
    const slot = slotOf(request.raw);
    // On public routes nobody is asked who they are: what the head said of it is kept.
    if (!slot || !request.principal) {
      done();
      return;
    }
    const caller = countedCaller(request);
    if (caller === slot.caller) {
      done();
      return;
    }
    const { authorization } = request.headers;
    if (caller === request.principal.id && authorization !== undefined) callers.learn(authorization, caller);
    const problem = slot.claim(caller);
    if (problem) discard(request.raw);
    done(problem);
  });
}

/** The caller that a request is counted for; undefined without credentials on this machine, where all have one address. */
export function countedCaller(request: Pick<Request, 'principal' | 'ip'>): string | undefined {
  const known = request.principal !== undefined && request.principal.id !== ANONYMOUS.id;
  return known || !isLoopback(request.ip) ? callerOf(request) : undefined;
}
