import type { FastifyInstance } from 'fastify';
import { callerOf } from '../auth/caller.js';
import { discard } from '../http/discard.js';
import type { Request } from '../http/request.js';
import { slotOf } from '../overload/slots.js';
import type { RateLimit } from './rate-limit.js';

/** Holds callers to the limit, before a body is read; a streamed one counts as one request. After authentication. */
export function useRateLimit(server: FastifyInstance, rateLimit: RateLimit): void {
  server.addHook('onRequest', async (request) => {
    if (request.routeOptions.config.probe) return;
    try {
      await counted(rateLimit, request);
    } catch (error) {
      discard(request.raw);
      throw error;
    }
  });
}

/** Keeps the request's slot meanwhile: clients that give up on a slow Redis and come again must not pile up calls. */
function counted(rateLimit: RateLimit, request: Request): Promise<void> {
  const count = (): Promise<void> => rateLimit.count(callerOf(request));
  const slot = slotOf(request.raw);
  return slot ? slot.during(count) : count();
}
