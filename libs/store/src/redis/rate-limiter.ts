import { RateLimiterRedis } from 'rate-limiter-flexible';
import { rateLimiterOn } from '../rate-limiter.js';
import type { RateLimiter } from '../port/index.js';
import type { Connection } from './connection/connection.js';
import { RATE_PREFIX } from './layout/keys.js';

/**
 * Limits each caller to `perSecond` requests a second, across all instances on this Redis. Throws immediately while
 * there is no connection.
 */
export function redisRateLimiter(connection: Connection, perSecond: number): RateLimiter {
  const limiter = new RateLimiterRedis({
    storeClient: connection.client,
    keyPrefix: RATE_PREFIX,
    points: perSecond,
    duration: 1,
    // Until the second has passed, a caller over the limit is refused without a call to Redis.
    inMemoryBlockOnConsumed: perSecond,
    rejectIfRedisNotReady: true,
  });
  return rateLimiterOn(limiter);
}
