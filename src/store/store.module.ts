import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../config/config.js';
import { Clock } from './clock.token.js';
import { openStore } from './open-store.js';
import { RandomSource } from './random-source.token.js';
import { serviceClock } from './service-clock.js';
import { SERVICE_RANDOM } from './service-random.js';
import { StoreEvents } from './store-events.js';
import { Store } from './store.token.js';
import { timedStore } from './timed-store.js';

/** Provides the store with its clock and source of randomness. Closes the store after the last request. */
@Global()
@Module({
  providers: [
    { provide: Clock, useFactory: serviceClock },
    { provide: RandomSource, useValue: SERVICE_RANDOM },
    StoreEvents,
    { provide: Store, useFactory: openTimed, inject: [Config, RandomSource, Clock, StoreEvents] },
  ],
  exports: [Clock, RandomSource, Store, StoreEvents],
})
export class StoreModule implements OnApplicationShutdown {
  constructor(@Inject(Store) private readonly store: Store) {}

  onApplicationShutdown(): Promise<void> {
    return this.store.close();
  }
}

async function openTimed(
  config: Config,
  random: RandomSource,
  clock: Clock,
  events: StoreEvents,
): Promise<Store> {
  return timedStore(await openStore(config, random, clock, events), events);
}
