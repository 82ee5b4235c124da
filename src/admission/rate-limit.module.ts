import { Global, Module } from '@nestjs/common';
import { RateLimiterMemory, type RateLimiterAbstract } from 'rate-limiter-flexible';
import { Config } from '../config/config.js';
import { Store } from '../store/store.token.js';
import { RateLimit } from './rate-limit.js';

/** Whose counts all instances on one Redis share; in this process's memory for its own store. */
async function openLimiter(store: Store, perSecond: number): Promise<RateLimiterAbstract> {
  const { RedisStore } = await import('#store/redis');
  if (store instanceof RedisStore) return store.rateLimiter(perSecond);
  return new RateLimiterMemory({ points: perSecond, duration: 1 });
}

async function openRateLimit({ rateLimit }: Config, store: Store): Promise<RateLimit | null> {
  return rateLimit === undefined ? null : new RateLimit(await openLimiter(store, rateLimit));
}

/** Provides a RateLimit, or null if none is set. */
@Global()
@Module({
  providers: [{ provide: RateLimit, useFactory: openRateLimit, inject: [Config, Store] }],
  exports: [RateLimit],
})
export class RateLimitModule {}
