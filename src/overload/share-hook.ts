import type { FastifyInstance } from 'fastify';
import { callerOf } from '../auth/caller.js';
import { ANONYMOUS } from '../auth/principal.js';
import { discard } from '../http/discard.js';
import { isLoopback } from '../http/loopback.js';
import type { Request } from '../http/request.js';
import { overloadedByCaller } from './refusal.js';
import { slotOf } from './slots.js';

/** Holds each caller to their share of the streams, before a body is read. After authentication, which says who it is. */
export function useStreamShares(server: FastifyInstance): void {
  server.addHook('onRequest', (request, _reply, done) => {
    const caller = shareholder(request);
    const slot = slotOf(request.raw);
    if (caller === undefined || slot === undefined || slot.claim(caller)) {
      done();
      return;
    }
    discard(request.raw);
    done(overloadedByCaller(slot.streamShare));
  });
}

/** Whose share a stream is counted in; undefined without credentials on this machine, where all have one address. */
export function shareholder(request: Pick<Request, 'principal' | 'ip'>): string | undefined {
  const known = request.principal !== undefined && request.principal.id !== ANONYMOUS.id;
  return known || !isLoopback(request.ip) ? callerOf(request) : undefined;
}
