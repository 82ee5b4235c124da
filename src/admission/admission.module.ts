import { Global, Module } from '@nestjs/common';
import { Config } from '../config/config.js';
import { Store } from '../store/store.token.js';
import { RateLimit } from './rate-limit.js';

function openRateLimit({ rateLimit }: Config, store: Store): RateLimit | null {
  return rateLimit === undefined ? null : new RateLimit(store.rateLimiter(rateLimit), rateLimit);
}

/** Provides a RateLimit, or null if the settings have no limit. */
@Global()
@Module({
  providers: [{ provide: RateLimit, useFactory: openRateLimit, inject: [Config, Store] }],
  exports: [RateLimit],
})
export class AdmissionModule {}
