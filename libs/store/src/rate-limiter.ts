import { RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible';
import type { RateLimiter } from './port/index.js';

/** Adapts a limiter of rate-limiter-flexible to the port. */
export function rateLimiterOn(limiter: RateLimiterAbstract): RateLimiter {
  return {
    async take(caller) {
      try {
        await limiter.consume(caller);
      } catch (refusal) {
        if (refusal instanceof RateLimiterRes) return Math.max(1, refusal.msBeforeNext);
      }
      return 0;
    },
  };
}
