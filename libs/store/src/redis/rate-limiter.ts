import { RateLimiterRedis } from 'rate-limiter-flexible';
import { rateLimiterOn } from '../rate-limiter.js';
import type { RateLimiter } from '../port/index.js';
import type { Connection } from './connection/connection.js';
import { RATE_PREFIX } from './layout/keys.js';

/**
 * Counts requests per caller and second, with `perSecond` as the limit, over all instances on this Redis. Throws
 * immediately while no connection exists.
 */
export function redisRateLimiter(connection: Connection, perSecond: number): RateLimiter {
  const limiter = new RateLimiterRedis({
    storeClient: connection.client,
    keyPrefix: RATE_PREFIX,
    points: perSecond,
    duration: 1,
    // A caller over the limit is refused without a call to Redis until the second has passed.
    inMemoryBlockOnConsumed: perSecond,
    rejectIfRedisNotReady: true,
  });
  return rateLimiterOn(limiter);
}
