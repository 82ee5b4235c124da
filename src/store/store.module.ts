import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../config/config.js';
import { openStore } from './open-store.js';
import { Store } from './store.token.js';

/** Provides the store, which is closed after the last request. */
@Global()
@Module({
  providers: [{ provide: Store, useFactory: openStore, inject: [Config] }],
  exports: [Store],
})
export class StoreModule implements OnApplicationShutdown {
  constructor(@Inject(Store) private readonly store: Store) {}

  onApplicationShutdown(): Promise<void> {
    return this.store.close();
  }
}
