import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../config/config.js';
import { Clock } from './clock.token.js';
import { openStore } from './open-store.js';
import { RandomSource } from './random-source.token.js';
import { serviceClock } from './service-clock.js';
import { SERVICE_RANDOM } from './service-random.js';
import { Store } from './store.token.js';

/** Provides the store with its clock and source of randomness. Closes the store after the last request. */
@Global()
@Module({
  providers: [
    { provide: Clock, useFactory: serviceClock },
    { provide: RandomSource, useValue: SERVICE_RANDOM },
    { provide: Store, useFactory: openStore, inject: [Config, RandomSource, Clock] },
  ],
  exports: [Clock, RandomSource, Store],
})
export class StoreModule implements OnApplicationShutdown {
  constructor(@Inject(Store) private readonly store: Store) {}

  onApplicationShutdown(): Promise<void> {
    return this.store.close();
  }
}
