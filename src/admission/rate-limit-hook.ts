import type { FastifyInstance } from 'fastify';
import { discard } from '../http/discard.js';
import { callerOf } from '../request/caller.js';
import { contextOf } from '../request/context.js';
import type { Request } from '../request/request.js';
import type { RateLimit } from './rate-limit.js';

/** Applies the rate limit before a body is read, after authentication. A streamed body counts as one request. */
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

/**
 * Keeps the request's permit during the count: clients that time out on a slow Redis and then retry must not pile up
 * calls.
 */
function counted(rateLimit: RateLimit, { raw, ip }: Request): Promise<void> {
  const { permit, principal } = contextOf(raw);
  const count = (): Promise<void> => rateLimit.count(callerOf(principal, ip));
  return permit ? permit.during(count) : count();
}
