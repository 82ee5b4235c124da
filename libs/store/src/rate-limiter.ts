import { RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible';
import type { RateLimiter } from './port/index.js';

/** Adapts a rate-limiter-flexible limiter to the port. */
export function rateLimiterOn(limiter: RateLimiterAbstract): RateLimiter {
  return {
    async take(caller, calls) {
      try {
        await limiter.consume(caller, calls);
      } catch (refusal) {
        if (refusal instanceof RateLimiterRes) {
          const { consumedPoints, msBeforeNext } = refusal;
          // 0: the caller was already over the limit, and is refused from memory, without counting.
          const before = consumedPoints === 0 ? limiter.points : consumedPoints - calls;
          return { within: Math.max(0, limiter.points - before), waitMs: Math.max(1, msBeforeNext) };
        }
      }
      return { within: calls, waitMs: 0 };
    },
  };
}
