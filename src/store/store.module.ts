import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../config/config.js';
import { openStore } from './open-store.js';
import { RandomSource } from './random-source.token.js';
import { SERVICE_RANDOM } from './service-random.js';
import { Store } from './store.token.js';

/** Provides the store, which is closed after the last request, and the source of its randomness. */
@Global()
@Module({
  providers: [
    { provide: RandomSource, useValue: SERVICE_RANDOM },
    { provide: Store, useFactory: openStore, inject: [Config, RandomSource] },
  ],
  exports: [RandomSource, Store],
})
export class StoreModule implements OnApplicationShutdown {
  constructor(@Inject(Store) private readonly store: Store) {}

  onApplicationShutdown(): Promise<void> {
    return this.store.close();
  }
}
